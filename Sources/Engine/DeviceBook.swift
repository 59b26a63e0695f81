internal import CRDTCore

/// The devices of the workspace, and how to reach them.
///
/// Who is a member follows from the introductions in the log and from pairings that are not in it yet.
struct DeviceBook {
    struct Entry {
        var device: DeviceID
        var name: String
        var staticKey: StaticKey
        /// Addresses where it was reached, or that were named, in the order in which to try them.
        var addresses: [NetworkAddress] = []
        var nextAddress = 0
        /// Addresses that beacons came from since a session last stood, the newest first: whoever sends a recorded
        /// beacon again can make up any number of them.
        var heardAddresses: [NetworkAddress] = []
        var nextHeardAddress = 0
        var isHeardNext = true
        /// When to dial next, in monotonic milliseconds; nil if there is no reason to.
        var nextDial: UInt64?
        var backoff = ConnectionTimes.backoffFirst
        /// Not before this monotonic time is a device dialled that has broken the protocol, and how long the next time.
        var avoidedUntil: UInt64 = 0
        var avoidance = ConnectionTimes.backoffFirst
        /// When it was last heard, in wall time.
        var lastSeen: WallTime?

        var hasAddress: Bool { !self.addresses.isEmpty || !self.heardAddresses.isEmpty }

        /// The address to dial now: what beacons named and what is known otherwise take turns.
        mutating func takeAddress() -> NetworkAddress? {
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

        /// What people are shown: a device that has not introduced itself yet has no name.
        var shownName: String {
            self.name.isEmpty ? "device \(self.device.description.prefix(8))" : self.name
        }
    }

    private(set) var entries: [StaticKey: Entry] = [:]
    /// Addresses the user named, of which it is not known whose they are: tried with one key after another.
    var unknownAddresses: [NetworkAddress: UnknownAddress] = [:]

    struct UnknownAddress {
        var nextDial: UInt64
        var backoff = ConnectionTimes.backoffFirst
        /// Which of the sorted keys is tried next.
        var nextKey = 0
        /// The device that answered there.
        var owner: StaticKey?
    }

    /// Addresses kept of one device.
    private static let addressCountMax = 8
    /// Of those that only beacons named.
    private static let heardAddressCountMax = 4

    subscript(key: StaticKey) -> Entry? {
        get { self.entries[key] }
        set { self.entries[key] = newValue }
    }

    func entry(of device: DeviceID) -> Entry? { self.entries.values.first { $0.device == device } }

    /// The static keys in a fixed order.
    var sortedKeys: [StaticKey] { self.entries.keys.sorted() }

    /// Enters a member device, or corrects its name.
    mutating func add(_ device: DeviceID, name: String, staticKey: StaticKey) {
        if self.entries[staticKey] == nil {
            self.entries[staticKey] = Entry(device: device, name: name, staticKey: staticKey)
        } else if !name.isEmpty {
            self.entries[staticKey]?.name = name
        }
    }

    /// Forgets a device that is no member.
    mutating func remove(_ key: StaticKey) {
        self.entries[key] = nil
        for (address, unknown) in self.unknownAddresses where unknown.owner == key {
            self.unknownAddresses[address]?.owner = nil
        }
    }

    /// Notes where a device may be reached; the newest address is tried first.
    mutating func note(_ address: NetworkAddress, of key: StaticKey) {
        guard var entry = self.entries[key], entry.addresses.first != address else { return }
        entry.addresses.removeAll { $0 == address }
        entry.addresses.insert(address, at: 0)
        if entry.addresses.count > Self.addressCountMax { entry.addresses.removeLast() }
        entry.nextAddress = 0
        self.entries[key] = entry
    }

    /// Notes where a beacon of a device came from.
    mutating func noteHeard(_ address: NetworkAddress, of key: StaticKey) {
        guard var entry = self.entries[key], !entry.addresses.contains(address),
            !entry.heardAddresses.contains(address)
        else { return }
        entry.heardAddresses.insert(address, at: 0)
        if entry.heardAddresses.count > Self.heardAddressCountMax { entry.heardAddresses.removeLast() }
        entry.nextHeardAddress = 0
        self.entries[key] = entry
    }
}
