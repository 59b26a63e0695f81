internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// The open connections of loopback TCP, one of which makes room when there are too many; and the thread of them all.
///
/// The thread ends when nobody has this any more: a request can outlive the server, and its last words need the thread.
///
/// Those go first on which nobody has been let in, so that a flood of strangers does not end those of clients;
/// then the one on which nothing was asked for longest.
final class ConnectionBook: Sendable {
    private struct Entry {
        let channel: any Channel
        var hasBeenLetIn = false
        var turn: UInt64
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var lastTurn: UInt64 = 0

        mutating func nextTurn() -> UInt64 {
            self.lastTurn += 1
            return self.lastTurn
        }

        /// The connection that makes room.
        var first: ObjectIdentifier? {
            func rank(_ entry: Entry) -> (Int, UInt64) { (entry.hasBeenLetIn ? 1 : 0, entry.turn) }
            return self.entries.min { rank($0.value) < rank($1.value) }?.key
        }
    }

    private let state = Mutex(State())
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    deinit { self.group.shutdownGracefully { _ in } }

    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        let surplus: (any Channel)? = self.state.withLock { state in
            var surplus: (any Channel)?
            if state.entries.count >= APILimits.connectionCountMax, let first = state.first {
                surplus = state.entries.removeValue(forKey: first)?.channel
            }
            state.entries[id] = Entry(channel: channel, turn: state.nextTurn())
            return surplus
        }
        surplus?.close(promise: nil)
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.entries[id] = nil } }
    }

    /// Notes that something came; of a stranger it changes nothing, unless it shows now that he may ask.
    func note(_ channel: any Channel, letsIn: Bool = false) {
        let id = ObjectIdentifier(channel)
        self.state.withLock { state in
            guard var entry = state.entries[id], entry.hasBeenLetIn || letsIn else { return }
            (entry.hasBeenLetIn, entry.turn) = (true, state.nextTurn())
            state.entries[id] = entry
        }
    }

    func closeAll() {
        for entry in self.state.withLock({ Array($0.entries.values) }) { entry.channel.close(promise: nil) }
    }
}
