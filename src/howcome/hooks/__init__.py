"""The hooks: a short process (or the warm one) that answers an agent's event, and is never in the way."""
