"""The library's types, without its native part: that one is loaded in children only, as it is in the gateway."""

import sys
from importlib.util import find_spec
from types import ModuleType

_found = find_spec("neonize")
assert _found is not None
_bare = ModuleType("neonize")
_bare.__path__ = list(_found.submodule_search_locations or ())
sys.modules.setdefault("neonize", _bare)
