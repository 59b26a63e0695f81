"""Runs a program that may not ask the system for its addresses, as RestrictAddressFamilies= of a service forbids it.

    without_netlink.py PROGRAM ARGUMENTS…
"""

import ctypes
import errno
import os
import platform
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
AF_NETLINK = 16
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
SOCKET = {"x86_64": 41, "aarch64": 198}
NUMBER_OFFSET, FIRST_ARGUMENT_OFFSET = 0, 16


def forbid():
    program = [
        (LOAD, 0, 0, NUMBER_OFFSET),
        (JUMP_IF_EQUAL, 0, 3, SOCKET[platform.machine()]),
        (LOAD, 0, 0, FIRST_ARGUMENT_OFFSET),
        (JUMP_IF_EQUAL, 0, 1, AF_NETLINK),
        (RETURN, 0, 0, REFUSE | errno.EAFNOSUPPORT),
        (RETURN, 0, 0, ALLOW),
    ]
    code = b"".join(struct.pack("HBBI", *step) for step in program)
    buffer = ctypes.create_string_buffer(code)
    filter_ = ctypes.create_string_buffer(struct.pack("HP", len(program), ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in ((PR_SET_NO_NEW_PRIVS, 1, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(filter_))):
        if libc.prctl(words[0], ctypes.c_ulong(words[1]), ctypes.c_ulong(words[2]), 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


forbid()
os.execvp(sys.argv[1], sys.argv[1:])
