"""What computes with models, behind ports: embedders (`base`, opened by `embed`)."""
