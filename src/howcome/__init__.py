"""howcome: long-term memory for coding agents. Empty on purpose: importing it must cost a hook nothing."""

__version__ = "0.1.0"
