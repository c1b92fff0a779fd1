"""What was done, and why, from what is stored: lines and files, rationales, telemetry, patterns of failures."""
