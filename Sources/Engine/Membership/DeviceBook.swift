internal import CRDTCore

/// The keys of a device: the one that it signs with, and the one that it proves in handshakes.
///
/// A member may certify any pair of keys, also another device's; only whoever has both is the device.
struct PeerKeys: Hashable, Comparable, Sendable {
    var device: DeviceID
    var staticKey: StaticKey

    static func < (left: PeerKeys, right: PeerKeys) -> Bool {
        (left.staticKey, left.device) < (right.staticKey, right.device)
    }
}

/// The devices of the workspace, and how to reach them.
///
/// Who is a member follows from the introductions in the log, from pairings that are not in it yet, and from members
/// that were met and are not in it yet.
struct DeviceBook {
    struct Entry {
        var keys: PeerKeys
        var name: String
        /// Whose it is, and who vouches for it.
        var author: ChainAuthor
        /// Whether it hung up when it was last dialled as one that knows us: then it is dialled as a member next.
        var isDialledAsMember = false
        /// With which of the membership keys it is dialled next: it may not have heard of the newest.
        var membershipKeyNumber = 0
        /// The time of the last beacon that was believed, and when that was in monotonic milliseconds.
        var lastBeacon: (time: WallTime, heard: UInt64)?
        /// Addresses where it was reached, or that were named, in the order in which to try them.
        var addresses: [NetworkAddress] = []
        var nextAddress = 0
        /// Addresses that beacons came from since a session last stood, the newest first: whoever sends a recorded
        /// beacon again can make up any number of them.
        var heardAddresses: [NetworkAddress] = []
        var nextHeardAddress = 0
        var isHeardNext = true
        /// Where its last beacon came from, if that is to be dialled next, beside a dial that nobody has answered.
        var beaconAddress: NetworkAddress?
        /// When to dial next, in monotonic milliseconds; nil if there is no reason to.
        var nextDial: UInt64?
        var backoff = ConnectionTimes.backoffFirst
        /// How often everyone had been to be dialled when the last connection began that has ended.
        private(set) var endedDialAllCount: UInt64 = 0
        /// Not before this monotonic time is a device dialled that has broken the protocol, and how long the next time.
        var avoidedUntil: UInt64 = 0
        var avoidance = ConnectionTimes.backoffFirst
        /// When it was last heard, in wall time.
        var lastSeen: WallTime?
        /// Whether nobody waits for it or looks for it.
        var isForgotten = false
        /// Whether the workspace has removed it, or its user.
        var isRemoved = false
        /// When its last sessions were ended by another one that it opened, in monotonic milliseconds.
        var displacements: [UInt64] = []

        /// When two machines with its keys were last known to run, in monotonic milliseconds.
        var copiesSeen: UInt64?

        /// Whether two machines are it: both are in sessions, or, if one was copied while it ran, they cannot be told
        /// apart and end each other's again and again.
        func hasCopies(at now: UInt64) -> Bool {
            if let copiesSeen, now <= copiesSeen + Self.copyMemoryMilliseconds { return true }
            guard self.displacements.count == Self.displacementCount, let first = self.displacements.first,
                let last = self.displacements.last
            else { return false }
            // Whoever asks may have read the clock before the last of them.
            return last <= first + Self.displacementMilliseconds && now <= last + Self.copyMemoryMilliseconds
        }

        /// Notes the end of a connection to it.
        ///
        /// One that began before everyone was to be dialled says nothing of whether the device answers now.
        mutating func noteEnd(of connection: PeerConnection) {
            self.endedDialAllCount = max(self.endedDialAllCount, connection.dialAllCount)
        }

        /// Notes that a session which lived was ended by another one.
        mutating func noteDisplacement(at now: UInt64) {
            self.displacements = self.displacements.suffix(Self.displacementCount - 1) + [now]
        }

        private static let displacementCount = 3
        private static let displacementMilliseconds: UInt64 = 60_000
        private static let copyMemoryMilliseconds: UInt64 = 600_000

        /// Whether it is wanted, and an address of it known.
        var canBeDialled: Bool { self.isWanted && (!self.addresses.isEmpty || !self.heardAddresses.isEmpty) }

        /// Whether somebody waits for it, or looks for it.
        var isWanted: Bool { !self.isForgotten && !self.isRemoved }

        /// The address to dial now: what beacons named and what is known otherwise take turns.
        mutating func takeAddress() -> NetworkAddress? {
            if let address = self.beaconAddress {
                self.beaconAddress = nil
                return address
            }
            let isHeard = !self.heardAddresses.isEmpty && (self.isHeardNext || self.addresses.isEmpty)
            self.isHeardNext = !isHeard
            if isHeard {
                defer { self.nextHeardAddress += 1 }
                return self.heardAddresses[self.nextHeardAddress % self.heardAddresses.count]
            }
            guard !self.addresses.isEmpty else { return nil }
            defer { self.nextAddress += 1 }
            return self.addresses[self.nextAddress % self.addresses.count]
        }

        /// The devices that vouch for it, the nearest first.
        var certifiers: ArraySlice<DeviceID> { self.author.line.dropFirst() }
        var device: DeviceID { self.keys.device }
        var staticKey: StaticKey { self.keys.staticKey }

        /// What people are shown: a device that has not introduced itself yet has no name.
        var shownName: String {
            self.name.isEmpty ? "device \(self.device.description.prefix(8))" : self.name
        }
    }

    private(set) var entries: [PeerKeys: Entry] = [:]
    /// The segments whose introductions it has.
    var segmentCount = 0
    /// What is said in the roster for members to know each other by, the newest first.
    var membershipKeys: [Bytes32] = []
    /// What decided which devices are removed.
    var rightsAge: RightsAge?
    /// Addresses of which it is not known whose they are: those that the user named, and those that unknown members'
    /// beacons came from.
    var unknownAddresses: [NetworkAddress: UnknownAddress] = [:]

    struct UnknownAddress {
        var nextDial: UInt64
        var backoff = ConnectionTimes.backoffFirst
        /// The device that answered there.
        var owner: PeerKeys?
        /// The run of its program that did: copies of the device may be elsewhere.
        var instance: UInt32?
        /// What became of the last dial; nil before, and while it is in a session.
        var failure: AddressFailure?
        /// With which of the membership keys it is dialled next.
        var membershipKeyNumber = 0
        /// Whether a beacon named it, and not the user: then it is forgotten when nobody answers.
        var isHeard = false
    }

    /// Addresses kept of one device.
    private static let addressCountMax = 8
    /// Of those that only beacons named.
    private static let heardAddressCountMax = 4

    subscript(key: PeerKeys) -> Entry? {
        get { self.entries[key] }
        set { self.entries[key] = newValue }
    }

    /// The devices' keys in a fixed order.
    var sortedKeys: [PeerKeys] { self.entries.keys.sorted() }

    /// Enters a member device, or corrects its name; of its certificates those of the highest generation count.
    mutating func add(_ keys: PeerKeys, name: String, _ author: ChainAuthor) {
        self.rightsAge = nil
        guard let known = self.entries[keys] else {
            self.entries[keys] = Entry(keys: keys, name: name, author: author)
            return
        }
        if !name.isEmpty { self.entries[keys]?.name = name }
        if known.author.user != author.user || known.author.generation <= author.generation {
            self.entries[keys]?.author = author
        }
    }

    /// Forgets a device that is no member.
    mutating func remove(_ key: PeerKeys) {
        self.entries[key] = nil
        for (address, unknown) in self.unknownAddresses where unknown.owner == key {
            self.unknownAddresses[address]?.owner = nil
        }
    }

    /// Notes where a device may be reached; the newest address is tried first.
    mutating func note(_ address: NetworkAddress, of key: PeerKeys) {
        guard var entry = self.entries[key], entry.addresses.first != address else { return }
        entry.addresses.removeAll { $0 == address }
        entry.addresses.insert(address, at: 0)
        if entry.addresses.count > Self.addressCountMax { entry.addresses.removeLast() }
        entry.nextAddress = 0
        self.entries[key] = entry
    }

    /// Notes where a beacon of a device came from.
    mutating func noteHeard(_ address: NetworkAddress, of key: PeerKeys) {
        guard var entry = self.entries[key], !entry.addresses.contains(address),
            !entry.heardAddresses.contains(address)
        else { return }
        entry.heardAddresses.insert(address, at: 0)
        if entry.heardAddresses.count > Self.heardAddressCountMax { entry.heardAddresses.removeLast() }
        entry.nextHeardAddress = 0
        self.entries[key] = entry
    }
}

extension DeviceCertificate {
    /// The keys that it is about.
    var keys: PeerKeys { PeerKeys(device: self.device, staticKey: self.staticKey) }
}
