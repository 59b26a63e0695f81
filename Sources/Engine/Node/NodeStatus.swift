package import CRDTCore

/// What a node can tell of itself at a moment.
package struct NodeStatus: Hashable, Sendable {
    package var workspace: WorkspaceID
    package var device: DeviceID
    package var deviceName: String
    package var user: UserID
    /// The replica written under; nil before the first write.
    package var replica: ReplicaID?
    package var frontier: [FrontierEntry]
    package var peers: [PeerStatus]
    /// Addresses that the user named and that lead to no session.
    package var failingAddresses: [AddressStatus] = []
    /// Whether some connection is being opened, or will be since everyone was to be dialled.
    package var isDialling = false
    /// Chains that are stored but not applied, and why.
    package var waits: [ReplicaWait]
    /// Replicas whose chains have forked.
    package var forks: [ReplicaFork]
    /// What our clock has shown, if it was set back since and nothing says that it is right now.
    package var clockSetBackFrom: WallTime?
    /// Whether another device's clock shows the same as ours, and fewer show a later time.
    package var isClockConfirmed = false
    /// Why the last write or merge failed; nil if it did not.
    package var storeFailure: StoreError?
    /// Erasures of other devices that wait here.
    package var waitingErasures: [DeviceErasures] = []
    /// Who says that this device is removed from the workspace; nil if nobody does.
    package var removal: ToldRemoval?
    /// Counters over all connections since the start.
    package var traffic = Traffic()
    package var counters = NodeCounters()
}

/// What a device is told that was removed from the workspace: no peer sends it anything any more, the statement that
/// removed it included.
package struct ToldRemoval: Hashable, Sendable {
    /// The machine that says so, and whose it is: of the same user, or of the founder.
    package var deviceName: String
    package var user: UserID
    /// When it was heard.
    package var time: WallTime

    init(deviceName: String, user: UserID, time: WallTime) {
        (self.deviceName, self.user, self.time) = (deviceName, user, time)
    }

    init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes)
        self.user = UserID(bytes: try reader.bytes32())
        self.time = WallTime(milliseconds: try reader.varint())
        self.deviceName = try reader.text(atMost: Limits.nameByteCountMax)
        try reader.finish()
    }

    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes += self.user.bytes.array
        bytes.appendVarint(self.time.milliseconds)
        bytes.appendPrefixed(self.deviceName)
        return bytes
    }
}

/// Another device of the workspace.
package struct PeerStatus: Hashable, Sendable {
    package var device: DeviceID
    package var name: String
    /// Whose it is; nil if that is not known here.
    package var user: UserID?
    /// The devices through which it has joined, the nearest first.
    package var certifiers: [DeviceID] = []
    /// Whether this machine may remove it: it stands above it, or its user founded the workspace and the device is
    /// another's.
    package var isRemovable = false
    package var isConnected = false
    /// Where it can be reached; nil if it dials, and cannot be dialled.
    package var address: NetworkAddress?
    package var lastSeen: WallTime?
    /// How far its clock is ahead of ours; nil if that is not known.
    package var clockAheadMilliseconds: Int64?
    /// Changes we hold that the peer is not known to hold durably; nil while not known.
    package var missingThereCount: UInt64?
    /// Changes the peer holds that we do not; nil while not known.
    package var missingHereCount: UInt64?
    /// Until when it holds changes that are in force here, by its clock; nil if it holds none.
    package var holdsUntil: WallTime?
    package var traffic = Traffic()
    /// Whether it has answered since everyone was to be met; what it had written by then has come.
    package var hasAnswered = false
    /// Whether two machines with its keys run at a time.
    package var hasCopies = false

    /// What it has otherwise although it holds the same; nil if nothing is known of that.
    package var difference: StateDifference?

    /// Whether both are known to hold the same.
    package var isInSync: Bool { self.missingThereCount == 0 && self.missingHereCount == 0 }
}

/// An address that leads to no session, and why.
package struct AddressStatus: Hashable, Sendable {
    package var address: NetworkAddress
    package var failure: AddressFailure
}

/// A chain whose next change cannot be applied yet.
package struct ReplicaWait: Hashable, Sendable {
    package var replica: ReplicaID
    package var deviceName: String
    /// The first change that waits.
    package var sequence: UInt64
    package var changeCount: UInt64
    package var reason: Merge.Wait
}

/// A chain that has forked: two machines wrote as one device.
package struct ReplicaFork: Hashable, Sendable {
    package var replica: ReplicaID
    package var deviceName: String
    /// How many forks it has; all of them count.
    package var forkCount: Int
}

/// Things counted since the start, so that nothing is dropped silently.
package struct NodeCounters: Hashable, Sendable {
    package var refusedConnectionCount = 0
    package var protocolViolationCount = 0
    /// Runs that go on from another change than the one that is stored.
    package var disputedRunCount = 0
    package var ignoredBeaconCount = 0

    package init() {}
}

/// What a node is started with beside its store and keys.
package struct NodeConfiguration: Hashable, Sendable {
    /// The TCP port peers can reach; nil if the node does not listen.
    package var listenPort: UInt16?
    /// Addresses to keep a connection to.
    package var staticAddresses: [NetworkAddress]
    /// Whether to send beacons and act on them.
    package var discovers: Bool
    /// What is kept outside of the store to tell it from a copy: the store remembers one of these, or none yet.
    package var acceptedTokens: [[UInt8]]
    /// What it remembers from now on.
    package var nextToken: [UInt8]
    package var lateWork: LateWorkLimits

    package init(
        listenPort: UInt16? = nil,
        staticAddresses: [NetworkAddress] = [],
        discovers: Bool = false,
        acceptedTokens: [[UInt8]] = [],
        nextToken: [UInt8] = [],
        lateWork: LateWorkLimits = LateWorkLimits()
    ) {
        self.listenPort = listenPort
        self.staticAddresses = staticAddresses
        self.discovers = discovers
        self.acceptedTokens = acceptedTokens
        self.nextToken = nextToken
        self.lateWork = lateWork
    }
}

/// Erasures of one device that wait.
package struct DeviceErasures: Hashable, Sendable {
    package var device: DeviceID
    package var deviceName: String
    package var count: Int
    /// When the first of them is done; nil if they were stopped.
    package var due: WallTime?
}

/// What a peer that has the same changes has otherwise.
package struct StateDifference: Hashable, Sendable {
    /// When it was found.
    package var since: WallTime
    /// Objects that differ, in ascending order; there may be more.
    package var objects: [ObjectID]

    package init(since: WallTime, objects: [ObjectID]) { (self.since, self.objects) = (since, objects) }
}
