"""Memories: keeping, superseding, forgetting, purging, moving and backing them up."""
