"""The viewer: what is known, said and spent, as pages for one browser on this machine, while somebody looks."""
