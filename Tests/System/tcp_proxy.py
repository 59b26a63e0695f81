"""A TCP proxy on loopback that counts what passes, and can cut, delay and refuse connections."""

import contextlib
import selectors
import socket
import struct
import threading
import time

READ_SIZE = 64 * 1024


class Proxy:
    """Forwards connections to a target. All settings may change while it runs; each connection takes those in force
    when it is accepted."""

    def __init__(self, target):
        self.target = target
        self.is_open = True
        self.delay_seconds = 0.0
        # Called for each connection; returns after how many bytes, both ways together, it is cut, or None for never.
        self.cut_after = lambda: None
        self.bytes_to_target = 0
        self.bytes_from_target = 0
        self.connections = 0
        self.cuts = 0
        self.record = None
        # Whether a cut is seen as a reset, or as an end of the stream in the middle of something.
        self.resets = True
        self._lock = threading.Lock()
        self._live = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def total_bytes(self):
        return self.bytes_to_target + self.bytes_from_target

    def live_connections(self):
        with self._lock:
            return len(self._live)

    def cut_all(self):
        """Resets every connection there is."""
        with self._lock:
            live = list(self._live)
        for link in live:
            link.cut()

    def close(self):
        self.is_open = False
        with contextlib.suppress(OSError):
            # Wakes the thread that accepts, which holds the port otherwise.
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if not self.is_open:
                client.close()
                continue
            host, port = self.target.rsplit(":", 1)
            try:
                server = socket.create_connection((host, int(port)), timeout=5)
            except OSError:
                client.close()
                continue
            link = _Link(self, client, server, self.cut_after())
            with self._lock:
                self.connections += 1
                self._live.add(link)
            threading.Thread(target=link.run, daemon=True).start()


class _Link:
    def __init__(self, proxy, client, server, budget):
        self.proxy = proxy
        self.client = client
        self.server = server
        self.budget = budget
        self.resets = proxy.resets
        self.ended = False

    def run(self):
        selector = selectors.DefaultSelector()
        try:
            for end, other in ((self.client, self.server), (self.server, self.client)):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(end, selectors.EVENT_READ, other)
            if self.budget == 0:
                self.cut()
            while not self.ended:
                for key, _ in selector.select(timeout=0.2):
                    if not self._forward(selector, key.fileobj, key.data):
                        return
                if not selector.get_map():
                    return
        except (OSError, ValueError):
            pass
        finally:
            self._finish()

    def _forward(self, selector, source, sink):
        size = READ_SIZE if self.budget is None else min(READ_SIZE, self.budget)
        data = source.recv(size)
        if not data:
            selector.unregister(source)
            sink.shutdown(socket.SHUT_WR)
            return True
        if self.proxy.delay_seconds:
            time.sleep(self.proxy.delay_seconds)
        sink.sendall(data)
        with self.proxy._lock:
            if sink is self.server:
                self.proxy.bytes_to_target += len(data)
            else:
                self.proxy.bytes_from_target += len(data)
            if self.proxy.record is not None:
                self.proxy.record.append((self, sink is self.server, data))
        if self.budget is not None:
            self.budget -= len(data)
            if self.budget <= 0:
                self.cut()
                return False
        return True

    def cut(self):
        """Ends both sides: what has not passed by now never will."""
        if self.ended:
            return
        self.ended = True
        with self.proxy._lock:
            self.proxy.cuts += 1
        for end in (self.client, self.server):
            try:
                if self.resets:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _finish(self):
        self.ended = True
        for end in (self.client, self.server):
            end.close()
        with self.proxy._lock:
            self.proxy._live.discard(self)
