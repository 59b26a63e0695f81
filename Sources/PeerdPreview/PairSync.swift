internal import CRDTCore
internal import Engine
internal import PeerCrypto
internal import PeerdKit
internal import Persistence

/// A sync of two devices until both hold the same: the nodes of real devices on copies of their databases, in virtual
/// time, over one link.
final class PairSync {
    /// The result of a sync.
    struct Outcome {
        /// The databases afterwards.
        var databases: [DatabaseCopy]
        /// The numbers of bytes that each device sent until both were equal.
        var byteCounts: [Int]
        /// The time from the dial until both were equal, in microseconds.
        var duration: UInt64
        var ending: Preview.Transfer.Ending
    }

    /// One device with its connections.
    private final class Side {
        let device: DeviceID
        var node: Node<SQLiteStore>?
        /// The name at the other side of each open connection.
        var others: [ConnectionID: ConnectionID] = [:]
        var alarm: (number: UInt64, deadline: UInt64)?
        /// The time at which the bytes handed to the link so far have left.
        var busyUntil: UInt64 = 0
        var sentByteCount = 0

        init(
            _ device: PreviewedDevice,
            _ database: DatabaseCopy,
            _ entropy: consuming EntropyStream,
            _ lateWork: LateWorkLimits,
            _ now: ClockReading
        )
            throws
        {
            self.device = device.device
            self.node = try Node(
                store: database.open(origin: device.origin),
                identity: device.identity(),
                configuration: NodeConfiguration(
                    listenPort: PairSync.port,
                    acceptedTokens: [PreviewedDevice.storeToken],
                    nextToken: PreviewedDevice.storeToken,
                    lateWork: lateWork
                ),
                entropy: entropy,
                at: now
            )
        }
    }

    private enum Occurrence {
        case event(side: Int, Event)
        case alarm(side: Int, number: UInt64)
    }

    private let link: Preview.Link
    private let start: WallTime
    private let stop: PreviewProgress
    private let sides: [Side]
    private var schedule = VirtualSchedule<Occurrence>()
    /// The time since the start, in microseconds.
    private var time: UInt64 = 0
    /// The time at which a change last came in, and the number of changes by then.
    private var progress = (time: UInt64(0), changeCount: 0)
    private var nextNumber: UInt64 = 1 << 63
    /// The time of the first dial.
    private var dialled: UInt64?
    /// The time since which both are seen to be in sync, and the bytes sent by then.
    private var agreement: (time: UInt64, byteCounts: [Int])?
    private var storeFailure: StoreError?

    private static let host = "there"
    private static let port: UInt16 = 7000
    /// The time for which two devices in sync are watched: they may have more to say.
    private static let calmTime: UInt64 = 1_000_000
    /// The time without a new change after which a sync is given up, beside the time that a large message takes.
    private static let patience: UInt64 = 180_000_000
    private static let patienceByteCount = 1 << 20

    /// The second device dials the first one.
    private init(
        _ devices: [PreviewedDevice],
        _ databases: [DatabaseCopy],
        _ options: PreviewOptions,
        at start: WallTime,
        seed: UInt64,
        _ stop: PreviewProgress
    ) throws {
        self.link = options.link
        self.start = start
        self.stop = stop
        var sides: [Side] = []
        for (number, device) in devices.enumerated() {
            let now = ClockReading(wall: start, monotonicMilliseconds: 0)
            let entropy = EntropyStream(numbers: [seed, UInt64(number)])
            sides.append(try Side(device, databases[number], entropy, options.lateWork, now))
        }
        self.sides = sides
    }

    /// Lets two devices sync, on duplicates of their databases.
    static func run(
        _ devices: [PreviewedDevice],
        _ databases: [DatabaseCopy],
        _ options: PreviewOptions,
        at start: WallTime,
        seed: UInt64,
        _ progress: PreviewProgress
    ) throws -> Outcome {
        let copies = try databases.map { try $0.duplicate() }
        let sync = try PairSync(devices, copies, options, at: start, seed: seed, progress)
        guard try sync.areAcquainted() else {
            return Outcome(databases: databases, byteCounts: [0, 0], duration: 0, ending: .strangers)
        }
        let address = NetworkAddress(host: Self.host, port: Self.port)
        sync.sides[1].node?.noteInviter(devices[0].staticKey, addresses: [address])
        for side in 0..<2 { sync.handle(side, .introduce) }
        let ending = try sync.ending()
        for side in sync.sides { side.node = nil }
        progress.didSync()
        let agreed = sync.agreement ?? (sync.time, sync.sides.map(\.sentByteCount))
        let dialled = min(agreed.time, sync.dialled ?? 0)
        return Outcome(
            databases: copies,
            byteCounts: agreed.byteCounts,
            duration: agreed.time - dialled,
            ending: ending
        )
    }

    // MARK: - Until both are equal

    private func areAcquainted() throws(StoreError) -> Bool {
        for side in 0..<2 {
            let other = self.sides[1 - side].device
            guard let status = try self.status(side), status.peers.contains(where: { $0.device == other }) else {
                return false
            }
        }
        return true
    }

    private func ending() throws -> Preview.Transfer.Ending {
        let patience = Self.patience + self.link.transmissionMicroseconds(of: Self.patienceByteCount)
        while let next = self.schedule.nextTime {
            if let agreement = self.agreement, next > agreement.time + Self.calmTime { break }
            if self.agreement == nil, next > self.progress.time + patience { break }
            guard let (time, occurrence) = self.schedule.next() else { break }
            self.time = time
            switch occurrence {
            case .alarm(let side, let number):
                guard self.sides[side].alarm?.number == number else { continue }
                self.sides[side].alarm = nil
                self.handle(side, .timer)
            case .event(let side, let event):
                self.handle(side, event)
                // Only what arrives brings them together.
                if case .received = event { try self.lookForAgreement() }
            }
            if let failure = self.storeFailure { throw failure }
            try self.stop.checkCancellation()
        }
        guard self.agreement != nil else { return .unequal("they exchange nothing more and are not in sync") }
        let frontiers = try self.frontiers()
        return frontiers[0] == frontiers[1] ? .equal : .unequal("they claim to be in sync and are not")
    }

    private func status(_ side: Int) throws(StoreError) -> NodeStatus? {
        try self.sides[side].node?.status(at: self.now)
    }

    private func frontiers() throws(StoreError) -> [Frontier?] {
        var frontiers: [Frontier?] = []
        for side in self.sides {
            frontiers.append(try side.node?.read { transaction throws(StoreError) in try Frontier(of: &transaction) })
        }
        return frontiers
    }

    private func lookForAgreement() throws(StoreError) {
        var agree = true
        var changeCount = 0
        var frontiers: [[FrontierEntry]] = []
        for side in 0..<2 {
            let other = self.sides[1 - side].device
            guard let status = try self.status(side), let peer = status.peers.first(where: { $0.device == other })
            else { continue }
            changeCount += status.traffic.pulledChangeCount
            frontiers.append(status.frontier)
            agree = agree && peer.isConnected && peer.isInSync
        }
        agree = agree && frontiers.allSatisfy { $0 == frontiers[0] }
        if changeCount != self.progress.changeCount { self.progress = (self.time, changeCount) }
        if !agree {
            self.agreement = nil
        } else if self.agreement == nil {
            self.agreement = (self.time, self.sides.map(\.sentByteCount))
        }
    }

    // MARK: - The network

    private var now: ClockReading {
        ClockReading(
            wall: self.start.advanced(byMilliseconds: self.time / 1_000),
            monotonicMilliseconds: self.time / 1_000
        )
    }

    private func handle(_ number: Int, _ event: Event) {
        let side = self.sides[number]
        for effect in side.node?.handle(event, at: self.now) ?? [] { self.perform(effect, of: number) }
        guard let deadline = side.node?.nextDeadline else {
            side.alarm = nil
            return
        }
        if side.alarm?.deadline == deadline { return }
        self.nextNumber += 1
        side.alarm = (self.nextNumber, deadline)
        let time = max(self.time, min(deadline, 1 << 50) * 1_000)
        self.schedule.schedule(.alarm(side: number, number: self.nextNumber), at: time)
    }

    private func schedule(_ event: Event, for side: Int, at time: UInt64) {
        self.schedule.schedule(.event(side: side, event), at: time)
    }

    private func perform(_ effect: Effect, of number: Int) {
        let side = self.sides[number]
        let other = 1 - number
        let latency = self.link.latencyMicroseconds
        switch effect {
        case .dial(let connection, let address):
            guard address.host == Self.host else {
                // An address of the real device leads nowhere.
                return self.schedule(.dialFailed(connection), for: number, at: self.time + 1_000)
            }
            self.dialled = self.dialled ?? self.time
            self.nextNumber += 1
            let accepted = ConnectionID(rawValue: self.nextNumber)
            side.others[connection] = accepted
            self.sides[other].others[accepted] = connection
            let from = NetworkAddress(host: Self.host, port: 40_000)
            self.schedule(.accepted(accepted, from: from), for: other, at: self.time + latency)
            self.schedule(.connected(connection), for: number, at: self.time + latency * 2)
        case .send(let connection, let bytes):
            guard let there = side.others[connection] else { return }
            side.sentByteCount += bytes.count
            side.busyUntil = max(side.busyUntil, self.time) + self.link.transmissionMicroseconds(of: bytes.count)
            self.schedule(.flushed(connection, byteCount: bytes.count), for: number, at: side.busyUntil)
            self.schedule(.received(there, bytes), for: other, at: side.busyUntil + latency)
        case .close(let connection, _):
            guard let there = side.others.removeValue(forKey: connection) else { return }
            self.schedule(.closed(there), for: other, at: max(side.busyUntil, self.time) + latency)
        case .notice(let notice):
            if case .storeFailed(let error) = notice { self.storeFailure = self.storeFailure ?? error }
        case .resumeReading, .answer, .broadcast: break
        }
    }
}

extension EntropyStream {
    /// Begins the stream that belongs to some numbers, four at most.
    init(numbers: [UInt64]) {
        var seed: [UInt8] = []
        for number in numbers { seed.appendBigEndian(number) }
        seed += [UInt8](repeating: 0, count: EntropyStream.seedByteCount - seed.count)
        guard let stream = EntropyStream(seed: SecretBytes(seed)) else { preconditionFailure("a seed has 32 bytes") }
        self = stream
    }
}
