"""Serves a model with llama.cpp on loopback, says where in a line of JSON, and ends with its standard input.

python server.py MODEL [TEMPLATE]    TEMPLATE is a file with the template that the model is told everything in
"""

import json
import os
import sys

import xllamacpp


def main(model, template=None):
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = 131_072
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = 2_048
    # More of them only get in the way of each other where the tests run side by side.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_predict = 24
    params.warmup = False
    params.port = 0
    params.hostnames = ["127.0.0.1"]
    params.use_jinja = True
    if template:
        with open(template, encoding="utf-8") as file:
            params.chat_template = file.read()
    server = xllamacpp.Server(params)
    print(json.dumps({"url": server.listening_address}), flush=True)
    sys.stdin.read()
    # Its threads wait for requests that never come.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
