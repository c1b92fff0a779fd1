"""The sources of candidates, each one method, none knowing another; `retrieve.search` fuses them."""
