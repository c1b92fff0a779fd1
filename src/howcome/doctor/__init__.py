"""The checks of `howcome doctor`: each looks at one thing of the machine and says what it found, with the remedy."""
