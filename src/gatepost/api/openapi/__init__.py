"""The API reference as data, derived from the routes.

route_docs.py   the description of a route, from its handler's annotations and its decorator
routes.py       every route; the two hot ones are described here
samples.py      an example of every answer, from the examples of the structs in `contract/`
parameters.py   path parameters and request headers       answer_headers.py  response headers
error_codes.py  every error code; problems.py: those of a route
document.py     all of it as OpenAPI 3.1
"""
