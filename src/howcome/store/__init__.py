"""What is remembered: the port (`base`) and its adapters. Rows are the truth, indexes are derived from them."""
