"""Stores for agent frameworks, a module for each. A module needs its framework: see the extras of the package."""
