"""The words and rules that all rooms share: standard library only, no disk, no clock, no model."""
