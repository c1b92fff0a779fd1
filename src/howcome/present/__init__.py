"""What doors share: the plain data of what is shown, how it is rendered, and the edge that fails open."""
