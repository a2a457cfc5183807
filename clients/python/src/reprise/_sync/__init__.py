"""The client that waits for each answer. ``tools/unasync.py`` makes it from the package ``_async``."""
