"""What every gateway process begins with, done once in the process that they are all forked from.

Only that process imports this.
"""

import gc

import uvicorn.lifespan.on
import uvicorn.protocols.http.httptools_impl  # noqa: F401  (which a server imports when it starts)

from gatepost.api.app import make_router
from gatepost.settings import load

_limit = load(environ={}).server.body_limit
for _public_only in (False, True):
    make_router(_limit, _public_only, figures=False)
gc.collect()
gc.freeze()  # or each gateway would go through all of it again
