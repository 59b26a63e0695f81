import CRDTCore
import Engine
import MergeModel
import Simulation
import SyncProtocol

/// Exchanges of blobs between peers with stores of their own, over links with delays that a seed draws.
///
/// Every message and every result of a disk is an event. Links carry messages in their order, one way as the other, and
/// lose what is under way when they are cut.
struct BlobNetwork {
    typealias Store = BlobStore<SimulatedBlobDisk>

    struct Peer {
        var exchange = BlobExchange()
        var disk: SimulatedDisk
        var store: Store
        /// What the peer has as a whole, and what it may give: all that it knows.
        var held: Set<BlobRoot> = []
        var wanted: [BlobRoot] = []
        var blamed: Set<Int> = []
        var violations: [String] = []
        var stops: [BlobFailure] = []
        /// Bytes of pieces that came.
        var receivedByteCount = 0
        var receivedLeaves: [BlobRoot: [Int: Int]] = [:]
        /// When the disk is free again.
        var diskTime: UInt64 = 0
        /// Rises when the program begins anew: what was under way is lost.
        var start = 0
        /// What it does to a message that it sends.
        var lie: (@Sendable (BlobMessage) -> BlobMessage?)?

        init(disk: SimulatedDisk) {
            self.disk = disk
            self.store = Store(disk: SimulatedBlobDisk(on: disk))
        }
    }

    private enum Happening {
        case message(BlobMessage, from: Int, to: Int, session: Int)
        case result(BlobResult, at: Int, start: Int)
        case act(@Sendable (inout BlobNetwork) -> Void)
    }

    var peers: [Peer]
    let shapes: [BlobRoot: BlobShape]
    var generator: SplitMix64
    private(set) var now: UInt64 = 0
    private var queue: [(time: UInt64, order: Int, Happening)] = []
    private var order = 0
    /// The session that stands between two peers, by the lower one and the other.
    private var sessions: [[Int]: Int] = [:]
    private var sessionCount = 0
    private var linkTimes: [[Int]: UInt64] = [:]
    var delay: ClosedRange<UInt64> = 1...40
    /// Milliseconds that a piece takes on its link.
    var pieceTime: UInt64 = 1

    init(peerCount: Int, shapes: [BlobRoot: BlobShape], seed: UInt64) {
        self.peers = (0..<peerCount).map { Peer(disk: SimulatedDisk(seed: seed &+ UInt64($0))) }
        self.shapes = shapes
        self.generator = SplitMix64(seed: seed)
    }

    mutating func at(_ time: UInt64, _ act: @escaping @Sendable (inout BlobNetwork) -> Void) {
        self.enqueue(time, .act(act))
    }

    private mutating func enqueue(_ time: UInt64, _ happening: Happening) {
        self.order += 1
        self.queue.append((time, self.order, happening))
    }

    // MARK: - Links

    mutating func connect(_ left: Int, _ right: Int) {
        let key = [min(left, right), max(left, right)]
        guard self.sessions[key] == nil else { return }
        self.sessionCount += 1
        self.sessions[key] = self.sessionCount
        for (one, other) in [(left, right), (right, left)] {
            self.peers[one].exchange.open(Self.connection(other), at: self.now)
            self.carryOut(one)
        }
    }

    mutating func cut(_ left: Int, _ right: Int) {
        let key = [min(left, right), max(left, right)]
        guard self.sessions.removeValue(forKey: key) != nil else { return }
        for (one, other) in [(left, right), (right, left)] {
            self.peers[one].exchange.close(Self.connection(other), at: self.now)
            self.carryOut(one)
        }
    }

    /// The program of a peer ends, and begins anew with what the disk has.
    mutating func restart(_ peer: Int, _ ending: Ending) {
        for other in self.peers.indices where other != peer { self.cut(peer, other) }
        let disk = self.peers[peer].disk
        if disk.isOn { disk.end(ending) }
        disk.start()
        self.peers[peer].store = Store(disk: SimulatedBlobDisk(on: disk))
        self.peers[peer].exchange = BlobExchange()
        self.peers[peer].start += 1
        let held = self.shapes.filter { root, shape in (try? self.peers[peer].store.holds(root, shape)) ?? false }
        self.peers[peer].held = Set(held.keys)
        self.want(self.peers[peer].wanted, at: peer)
    }

    mutating func want(_ roots: [BlobRoot], at peer: Int, urgent: Range<Int> = 0..<0) {
        self.peers[peer].wanted = roots
        let held = self.peers[peer].held
        let wishes = roots.filter { !held.contains($0) }.compactMap { root in
            self.shapes[root].map { BlobExchange.Wish(root: root, shape: $0, urgent: urgent) }
        }
        self.peers[peer].exchange.want(wishes, at: self.now)
        self.carryOut(peer)
    }

    static func connection(_ peer: Int) -> ConnectionID { ConnectionID(rawValue: UInt64(peer)) }

    // MARK: - Time

    /// Runs until nothing is to be done, or until a time.
    mutating func run(until end: UInt64) {
        while true {
            let next = self.queue.indices.min {
                (self.queue[$0].time, self.queue[$0].order) < (self.queue[$1].time, self.queue[$1].order)
            }
            let deadlines = self.peers.indices.compactMap { peer in
                self.peers[peer].exchange.deadline.map { (max($0, self.now), peer) }
            }
            let deadline = deadlines.min { $0 < $1 }
            guard let time = [next.map { self.queue[$0].time }, deadline?.0].compactMap({ $0 }).min(), time <= end
            else {
                self.now = end
                return
            }
            self.now = max(self.now, time)
            if let next, self.queue[next].time <= deadline?.0 ?? .max {
                self.handle(self.queue.remove(at: next).2)
            } else if let peer = deadline?.1 {
                self.peers[peer].exchange.tick(at: self.now)
                self.carryOut(peer)
            }
        }
    }

    private mutating func handle(_ happening: Happening) {
        switch happening {
        case .act(let act): act(&self)
        case .result(let result, let peer, let start):
            guard self.peers[peer].start == start else { return }
            self.peers[peer].exchange.receive(result, at: self.now)
            self.carryOut(peer)
        case .message(let message, let from, let to, let session):
            guard self.sessions[[min(from, to), max(from, to)]] == session else { return }
            if case .piece(let piece) = message { self.peers[to].receivedByteCount += piece.bytes.count }
            let peer = self.peers[to]
            let shapes = self.shapes
            self.peers[to].exchange.receive(message, from: Self.connection(from), at: self.now) { root in
                guard peer.held.contains(root) || peer.wanted.contains(root), let shape = shapes[root] else {
                    return .refused(.notHere)
                }
                return .granted(shape)
            }
            self.carryOut(to)
        }
    }

    private mutating func carryOut(_ peer: Int) {
        for action in self.peers[peer].exchange.takeActions() {
            switch action {
            case .send(let connection, let message): self.send(message, from: peer, to: Int(connection.rawValue))
            case .perform(let command):
                if case .takeLeaf(let root, _, let leaf, _, _) = command {
                    self.peers[peer].receivedLeaves[root, default: [:]][leaf, default: 0] += 1
                }
                let start = max(self.now, self.peers[peer].diskTime)
                let time = start + UInt64.random(in: 0...3, using: &self.generator)
                self.peers[peer].diskTime = time
                let result = self.peers[peer].store.perform(command)
                self.enqueue(time, .result(result, at: peer, start: self.peers[peer].start))
            case .arrived(let roots): self.peers[peer].held.formUnion(roots)
            case .blame(let connection, _): self.peers[peer].blamed.insert(Int(connection.rawValue))
            case .violation(let connection, let reason):
                self.peers[peer].violations.append(reason)
                self.at(self.now) { $0.cut(peer, Int(connection.rawValue)) }
            case .stopped(let failure): self.peers[peer].stops.append(failure)
            }
        }
        for other in self.peers.indices {
            while let message = self.peers[peer].exchange.next(for: Self.connection(other)) {
                self.send(message, from: peer, to: other)
            }
        }
        // What was sent has had the disk read on.
        if !self.peers[peer].exchange.hasNothingToDo { self.carryOut(peer) }
    }

    private mutating func send(_ message: BlobMessage, from: Int, to: Int) {
        guard let session = self.sessions[[min(from, to), max(from, to)]] else { return }
        let sent: BlobMessage
        if let lie = self.peers[from].lie {
            guard let changed = lie(message) else { return }
            sent = changed
        } else {
            sent = message
        }
        var time = max(
            self.linkTimes[[from, to]] ?? 0,
            self.now + UInt64.random(in: self.delay, using: &self.generator)
        )
        if case .piece = sent { time += self.pieceTime }
        self.linkTimes[[from, to]] = time
        self.enqueue(time, .message(sent, from: from, to: to, session: session))
    }
}
