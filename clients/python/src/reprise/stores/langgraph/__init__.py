"""The memory of LangGraph, kept by Reprise: checkpoints of threads, and items that outlive them.

::

    from reprise import Reprise
    from reprise.stores.langgraph import RepriseSaver, RepriseStore

    client = Reprise("http://127.0.0.1:8080", "acme_corp")
    graph = builder.compile(checkpointer=RepriseSaver(client), store=RepriseStore(client))

Needs ``langgraph-checkpoint`` 4.3, which LangGraph 1.2 brings.
"""

from .saver import RepriseSaver
from .store import RepriseStore

__all__ = ["RepriseSaver", "RepriseStore"]
