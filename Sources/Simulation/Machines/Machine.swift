package import CRDTCore
package import Engine
package import PeerCrypto
package import Persistence

/// One machine of a world: a disk, a clock, and the process that runs the production node on them, or does not.
package final class Machine {
    package let number: Int
    let host: String
    /// The content of its key file.
    private(set) var keyFile: [UInt8]
    package let origin: Hash256
    package let disk: SimulatedDisk
    let fileSystem: VirtualFileSystem
    /// What all machines of its world remember of cryptography.
    let memo: WorldMemo
    package var clock = MachineClock()
    package var node: Node<SQLiteStore>?
    var condition = Condition.down
    /// Counts the processes that ran here: what was meant for an earlier one does not reach the present one.
    private(set) var incarnation = 0
    /// What the file beside the database holds that tells the database from one that was put back or copied: a token
    /// of the present process, or of the one before as well if that did not come so far.
    var tokens: [[UInt8]] = []
    var endedUncleanly = false
    var connections: [ConnectionID: WireEnd] = [:]
    /// The alarm that is set: its number, and the time it is set for.
    var alarm: (number: UInt64, time: VirtualTime)?
    /// Events in a row during which no time passed.
    var eventsWithoutTime = (time: VirtualTime.zero, count: 0)
    package var backup: Backup?
    /// The last dialler's stream that was recorded here, for replays.
    var recording: [[UInt8]] = []
    /// A copy of everything that is on its disk.
    package struct Backup {
        package var database: DiskImage
        var tokens: [[UInt8]]
    }

    /// What its store held when it was last looked at.
    var view = StoreContent()
    /// How often its disk had been changed by then.
    var viewedChangeCount = -1
    /// What was last read of its store.
    var reading: StoreReading?
    /// What was found when it was last inspected, and what its store held then.
    var inspection: (view: StoreContent, state: MachineState?)?
    /// What its store knew of who reads what when that was last looked at.
    var rightsRevision = -1
    /// How many changes its log held when its state was last compared.
    var comparedStoredCount: UInt64 = 0
    /// How many versions its properties had when that was last looked at.
    var writeCounts = WriteCounts()
    /// The program that its user works with, and the action that it does.
    var program = ActingProgram()
    /// The undos of its user one after the other.
    var undos = UndoChain()
    /// The state that its user keeps in mind.
    var remembered: Frontier?
    /// Whether its disk has broken a promise: lost what it had synced, or changed it.
    var isTainted = false
    /// Until when its state may be another one than its changes make it, since another program has altered it.
    var alteredUntil = VirtualTime.zero
    /// Programs of its user that follow what changes, with an index of their own that no fault touches.
    var observers: [Observer] = []
    /// What has taken the place of its node, if it does not keep to the protocol any more.
    var hostile: HostileMember?
    var refusesDialsUntil = VirtualTime.zero
    /// Which machine answers at its address, and until when.
    var impostor: (number: Int, until: VirtualTime)?
    /// The latest time that its clock has shown.
    var highestWall = WallTime(milliseconds: 0)
    /// The minute of its last dial, and how often it has dialled in it.
    var dials = (minute: 0, count: 0)
    /// How long it stays down after the ending that is planned.
    var plannedDowntime: VirtualTime?

    package enum Condition: Hashable, Sendable {
        case up
        /// Asleep: what arrives waits.
        case paused
        case down
        /// Gone for good.
        case failed
    }

    static let port: UInt16 = 7000
    static let databasePath = "/peerd.sqlite"
    private static let tokenByteCount = 16

    init(number: Int, keyFile: [UInt8], origin: Hash256, disk: SimulatedDisk, seed: UInt64, memo: WorldMemo) {
        self.number = number
        self.host = "10.0.0.\(number + 1)"
        self.keyFile = keyFile
        self.origin = origin
        self.disk = disk
        self.memo = memo
        self.fileSystem = VirtualFileSystem(disk: disk, seed: seed)
    }

    deinit { self.node = nil }

    /// Who made the workspace.
    private(set) lazy var founder: UserID = self.identity.founder

    /// Who uses it.
    private(set) lazy var user: UserID = self.identity.user
    private(set) lazy var device: DeviceID = self.identity.device

    /// It, as its certificates say.
    private(set) lazy var author = self.certified

    private var certified: ChainAuthor {
        guard let author = ChainAuthor(self.identity.introduction(nonce: Bytes16(high: 0, low: 0))) else {
            preconditionFailure("a device has certificates")
        }
        return author
    }

    /// Another key file of the same device takes the place of the one that it had.
    func certify(_ keyFile: [UInt8]) {
        self.keyFile = keyFile
        self.author = self.certified
    }

    /// What its key file says.
    var identity: DeviceIdentity {
        guard let identity = DeviceIdentity.decode(SecretBytes(self.keyFile)) else {
            preconditionFailure("the key file is what the node itself wrote")
        }
        return identity
    }

    var isUp: Bool { self.condition == .up }

    func moment(at time: VirtualTime) -> ClockReading {
        ClockReading(wall: self.clock.wall(at: time), monotonicMilliseconds: time.milliseconds)
    }

    /// Starts the process: opens the store and the node on it.
    package func start(
        at time: VirtualTime,
        entropySeed: UInt64,
        checkpointPageCount: Int,
        lateWork: LateWorkLimits
    ) throws(StoreError) {
        self.disk.start()
        self.viewedChangeCount = -1
        self.incarnation += 1
        self.connections = [:]
        self.alarm = nil
        let moment = self.moment(at: time)
        self.disk.wallMilliseconds = moment.wall.milliseconds
        self.highestWall = max(self.highestWall, moment.wall)
        var configuration = StoreConfiguration()
        configuration.checkpointPageCount = checkpointPageCount
        let store = try SQLiteStore(
            virtual: self.fileSystem.database(endedUncleanly: self.endedUncleanly),
            origin: self.origin,
            configuration: configuration
        )
        var entropy = EntropyStream.from(entropySeed)
        let token = entropy.bytes(Machine.tokenByteCount)
        let accepted = self.tokens
        // In the file before it is in the database, and alone there only when it is.
        self.tokens.append(token)
        self.node = try Node(
            store: store,
            identity: self.identity,
            configuration: NodeConfiguration(
                listenPort: Machine.port,
                discovers: true,
                acceptedTokens: accepted,
                nextToken: token,
                lateWork: lateWork
            ),
            memo: self.memo,
            entropy: entropy,
            at: moment
        )
        if self.disk.isOn { self.tokens = [token] }
        self.condition = .up
        self.endedUncleanly = false
    }

    /// The process ends in order, and the store is closed.
    package func stop() {
        self.node = nil
        self.condition = .down
        self.endedUncleanly = false
    }

    /// The process is gone.
    package func end(_ ending: Ending) {
        if self.disk.isOn { self.disk.end(ending) }
        self.node = nil
        self.condition = .down
        self.endedUncleanly = true
    }

    /// What is found in its store, with its disk behaving meanwhile; nil also if that cannot be read.
    func look<Result>(
        _ body: (inout SQLiteStore.Transaction) throws(StoreError) -> Result?
    ) -> Result? {
        (try? self.read(body)) ?? nil
    }

    /// Reads its store, with its disk behaving meanwhile.
    package func read<Result>(
        _ body: (inout SQLiteStore.Transaction) throws(StoreError) -> Result
    ) throws(StoreError) -> Result? {
        self.disk.isObserved = true
        defer { self.disk.isObserved = false }
        return try self.node?.read(body)
    }
}

extension EntropyStream {
    /// A stream that follows from one choice.
    package static func from(_ seed: UInt64) -> EntropyStream {
        var generator = LossGenerator(seed: seed)
        guard let stream = EntropyStream(seed: SecretBytes(generator.bytes(EntropyStream.seedByteCount))) else {
            preconditionFailure("a seed has 32 bytes")
        }
        return stream
    }
}
