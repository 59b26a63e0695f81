internal import CRDTCore
internal import Engine
internal import PeerCrypto
internal import Persistence

/// Two devices that meet until both hold the same: the production nodes on copies of their databases, in virtual time,
/// over one link with a latency and a bandwidth.
///
/// A `World` would do the same with more around it. This is less because real databases are large, and the oracles of a
/// world look at a store after every event; because real keys must stay in memory that is zeroed; and because a world's
/// links have a latency only.
final class Meeting {
    /// What a meeting came to.
    struct Outcome {
        /// What is on each disk afterwards.
        var images: [DiskImage]
        /// How many bytes each sent until both were equal.
        var byteCounts: [Int]
        /// From the dial until both were equal.
        var duration: VirtualTime
        var ending: Ending
        /// What a user should know of.
        var notices: [Notice]
    }

    enum Ending: Hashable {
        case equal
        /// One does not know the other, and would not let it in.
        case strangers
        /// They did not become equal.
        case stuck(String)
    }

    /// One of the two, and the connections it has.
    private final class Side {
        let disk: SimulatedDisk
        let fileSystem: VirtualFileSystem
        let device: DeviceID
        var node: Node<SQLiteStore>?
        /// For each open connection, its name at the other side.
        var others: [ConnectionID: ConnectionID] = [:]
        var alarm: (number: UInt64, time: UInt64)?
        /// When the bytes handed to the link so far have left.
        var busyUntil = VirtualTime.zero
        var sentByteCount = 0

        init(_ image: DiskImage, _ copy: DeviceCopy, seed: UInt64, _ moment: Moment) throws(StoreError) {
            self.disk = SimulatedDisk(seed: seed)
            self.disk.restore(image)
            self.disk.start()
            self.fileSystem = VirtualFileSystem(disk: self.disk, seed: seed)
            self.device = copy.device
            self.node = try Node(
                store: OpenCopy.store(self.fileSystem, origin: copy.origin),
                identity: copy.identity(),
                configuration: NodeConfiguration(
                    listenPort: Meeting.port,
                    acceptedTokens: [OpenCopy.token],
                    nextToken: OpenCopy.token
                ),
                entropy: EntropyStream.from(seed),
                at: moment
            )
        }

        deinit { self.node = nil }
    }

    private enum Occurrence {
        case event(side: Int, Event)
        case alarm(side: Int, number: UInt64)
    }

    private let link: Link
    private let start: WallTime
    private let sides: [Side]
    private var queue = EventQueue<Occurrence>()
    private var time = VirtualTime.zero
    /// When a change last came in, and how many had by then.
    private var progress = (time: VirtualTime.zero, changeCount: 0)
    private var nextNumber: UInt64 = 1 << 63
    /// When the one first dialled the other.
    private var dialled: VirtualTime?
    private var notices: [Notice] = []
    /// When both were first seen to be in sync, and have been since, and what had been sent by then.
    private var agreement: (time: VirtualTime, byteCounts: [Int])?

    private static let host = "there"
    private static let port: UInt16 = 7000
    /// How long two that are in sync are watched: they may have more to say.
    private static let calmTime = VirtualTime.seconds(1)
    /// How long no change may come in before they are given up.
    private static let patience = VirtualTime.seconds(180)

    /// The devices and what is on their disks; the first is dialled by the second.
    private init(
        _ copies: [DeviceCopy],
        _ images: [DiskImage],
        link: Link,
        at start: WallTime,
        seed: UInt64
    ) throws(StoreError) {
        self.link = link
        self.start = start
        var sides: [Side] = []
        for (number, copy) in copies.enumerated() {
            let moment = Moment(wall: start, monotonicMilliseconds: 0)
            sides.append(try Side(images[number], copy, seed: seed &+ UInt64(number), moment))
        }
        self.sides = sides
    }

    /// Lets two devices meet.
    static func hold(
        _ copies: [DeviceCopy],
        _ images: [DiskImage],
        link: Link,
        at start: WallTime,
        seed: UInt64
    ) throws(StoreError) -> Outcome {
        let meeting = try Meeting(copies, images, link: link, at: start, seed: seed)
        guard try meeting.areAcquainted() else {
            return Outcome(images: images, byteCounts: [0, 0], duration: .zero, ending: .strangers, notices: [])
        }
        let address = NetworkAddress(host: Meeting.host, port: Meeting.port)
        meeting.sides[1].node?.noteInviter(copies[0].staticKey, addresses: [address])
        for side in 0..<2 { meeting.handle(side, .introduce) }
        let ending = try meeting.run()
        for side in meeting.sides { side.node = nil }
        let agreed = meeting.agreement ?? (meeting.time, meeting.sides.map(\.sentByteCount))
        return Outcome(
            images: meeting.sides.map { $0.disk.image() },
            byteCounts: agreed.byteCounts,
            duration: agreed.time - (meeting.dialled ?? .zero),
            ending: ending,
            notices: meeting.notices
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

    private func run() throws(StoreError) -> Ending {
        while let next = self.queue.nextTime {
            if let agreement = self.agreement, next > agreement.time + Meeting.calmTime { break }
            if self.agreement == nil, next > self.progress.time + Meeting.patience { break }
            guard let (time, occurrence) = self.queue.next() else { break }
            self.time = time
            switch occurrence {
            case .alarm(let side, let number):
                guard self.sides[side].alarm?.number == number else { continue }
                self.sides[side].alarm = nil
                self.handle(side, .timer)
            case .event(let side, let event):
                self.handle(side, event)
                // Only what is heard brings them together.
                if case .received = event { try self.lookForAgreement() }
            }
        }
        guard self.agreement != nil else { return .stuck("they exchange nothing more and are not in sync") }
        let frontiers = try self.frontiers()
        return frontiers[0] == frontiers[1] ? .equal : .stuck("they say that they are in sync and are not")
    }

    private func status(_ side: Int) throws(StoreError) -> NodeStatus? {
        try self.sides[side].node?.status(at: self.moment)
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

    // MARK: - Doing what nodes ask for

    private var moment: Moment {
        Moment(
            wall: self.start.advanced(byMilliseconds: self.time.milliseconds),
            monotonicMilliseconds: self.time.milliseconds
        )
    }

    private func handle(_ number: Int, _ event: Event) {
        let side = self.sides[number]
        side.disk.wallMilliseconds = self.moment.wall.milliseconds
        for effect in side.node?.handle(event, at: self.moment) ?? [] { self.perform(effect, of: number) }
        guard let deadline = side.node?.nextDeadline else {
            side.alarm = nil
            return
        }
        if side.alarm?.time == deadline { return }
        self.nextNumber += 1
        side.alarm = (self.nextNumber, deadline)
        let time = max(self.time, VirtualTime.milliseconds(min(deadline, 1 << 50)))
        self.queue.schedule(.alarm(side: number, number: self.nextNumber), at: time)
    }

    private func schedule(_ event: Event, for side: Int, at time: VirtualTime) {
        self.queue.schedule(.event(side: side, event), at: time)
    }

    private func perform(_ effect: Effect, of number: Int) {
        let side = self.sides[number]
        let other = 1 - number
        switch effect {
        case .dial(let connection, let address):
            guard address.host == Meeting.host else {
                // Where it was found in real life: not here.
                return self.schedule(.dialFailed(connection), for: number, at: self.time + .milliseconds(1))
            }
            self.dialled = self.dialled ?? self.time
            self.nextNumber += 1
            let accepted = ConnectionID(rawValue: self.nextNumber)
            side.others[connection] = accepted
            self.sides[other].others[accepted] = connection
            let arrival = self.time + self.link.latency
            let from = NetworkAddress(host: Meeting.host, port: 40_000)
            self.schedule(.accepted(accepted, from: from), for: other, at: arrival)
            self.schedule(.connected(connection), for: number, at: arrival + self.link.latency)
        case .send(let connection, let bytes):
            guard let there = side.others[connection] else { return }
            side.sentByteCount += bytes.count
            side.busyUntil = max(side.busyUntil, self.time) + self.link.transmission(of: bytes.count)
            self.schedule(.flushed(connection, byteCount: bytes.count), for: number, at: side.busyUntil)
            self.schedule(.received(there, bytes), for: other, at: side.busyUntil + self.link.latency)
        case .close(let connection, _):
            guard let there = side.others.removeValue(forKey: connection) else { return }
            self.schedule(.closed(there), for: other, at: max(side.busyUntil, self.time) + self.link.latency)
        case .notice(let notice): self.notices.append(notice)
        case .resumeReading, .answer, .broadcast: break
        }
    }
}
