package import CRDTCore
package import Engine
internal import Glibc
internal import PeerCrypto
internal import Persistence
internal import SyncProtocol

/// An honest device whose processor time is measured: the production node with its database in a directory.
///
/// A class, since a node cannot be copied.
package final class MeasuredDevice {
    private var node: Node<SQLiteStore>
    let staticKey: StaticKey
    /// What it says, until somebody takes it.
    private var said: [ConnectionID: [UInt8]] = [:]
    private(set) var closed: Set<ConnectionID> = []
    private(set) var lastViolation = ""
    /// Processor time of all events handled.
    package private(set) var nanoseconds: UInt64 = 0
    private var milliseconds: UInt64 = 0
    private var nextRequest: UInt64 = 1

    package init(directory: String) throws {
        var entropy = EntropyStream.from(1)
        guard let identity = DeviceIdentity.founding(name: "measured", entropy: &entropy) else {
            throw Failure(description: "no identity")
        }
        self.staticKey = identity.publicStaticKey
        let origin = identity.origin
        self.node = try Node(
            store: SQLiteStore(directory: directory, origin: origin),
            identity: identity,
            configuration: NodeConfiguration(listenPort: 1),
            entropy: entropy,
            at: ClockReading(wall: Self.start, monotonicMilliseconds: 0)
        )
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package static let start = WallTime(milliseconds: 1_700_000_000_000)

    package var now: ClockReading {
        ClockReading(
            wall: Self.start.advanced(byMilliseconds: self.milliseconds),
            monotonicMilliseconds: self.milliseconds
        )
    }

    package func sleep(milliseconds: UInt64) {
        self.milliseconds += milliseconds
        self.handle(.timer)
    }

    /// Handles an event, and counts what that takes.
    package func handle(_ event: Event) {
        self.milliseconds += 1
        let before = Self.processorTime
        let effects = self.node.handle(event, at: self.now)
        self.nanoseconds += Self.processorTime - before
        for effect in effects {
            switch effect {
            case .send(let id, let bytes):
                self.said[id] = (self.said[id] ?? []) + bytes
                _ = self.node.handle(.flushed(id, byteCount: bytes.count), at: self.now)
            case .close(let id, _): self.closed.insert(id)
            case .notice(.protocolViolation(_, let reason)): self.lastViolation = reason
            case .answer(_, .failure(let refusal)): self.lastViolation = "a write was refused: \(refusal)"
            case .answer(_, .success), .notice, .dial, .resumeReading, .broadcast: break
            }
        }
    }

    /// Under which it writes.
    var replica: ReplicaID? { (try? self.node.status(at: self.now))?.replica }

    func takeSaid(on id: ConnectionID) -> [UInt8] { self.said.removeValue(forKey: id) ?? [] }

    /// Writes a small transaction of its own; returns the nanoseconds it took.
    package func write(_ steps: Transaction.Step...) -> UInt64 {
        let before = self.nanoseconds
        let id = RequestID(rawValue: self.nextRequest)
        self.nextRequest += 1
        self.handle(.write([WriteRequest(id: id, transaction: Transaction(steps))]))
        return self.nanoseconds - before
    }

    func invite() throws -> Invite { try self.node.makeInvite(addresses: [], port: 1, at: self.now) }

    private static var processorTime: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
