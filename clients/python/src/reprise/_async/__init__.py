"""The client for asyncio. ``tools/unasync.py`` makes the package ``_sync`` from this one."""
