"""The reference as data: every route that exists, read from the routes themselves and from one line of notes for each.

routes.py    what the handlers say of themselves: method, path, scope, words, body
note.py, notes.py, desk_notes.py
             what they do not say: data of the answer, parameters, codes of refusal, an example
shapes.py    the answers, as types (desk_shapes.py too)
send.py      the body of a send, field by field; send_examples.py: one of every type
samples.py   an example of every answer       answer_headers.py  what answers carry besides their body
problems.py  the codes of refusal             document.py  all of it as OpenAPI 3.1
"""
