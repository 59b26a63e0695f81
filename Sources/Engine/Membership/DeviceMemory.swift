package import CRDTCore

/// What this machine remembers of other devices, beside what the log says: when each was last seen, and whether it is
/// one that nobody waits for.
package struct DeviceMemory: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        var lastSeen: WallTime?
        var isForgotten = false
    }

    var entries: [PeerKeys: Entry] = [:]

    private static let isForgottenFlag: UInt8 = 1
    private static let wasSeenFlag: UInt8 = 2

    init() {}

    /// Reads what was stored.
    init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes)
        while reader.remaining > 0 {
            let device = DeviceID(bytes: try reader.bytes32())
            let keys = PeerKeys(device: device, staticKey: StaticKey(bytes: try reader.bytes32()))
            let flags = try reader.byte()
            let milliseconds = try reader.bigEndian()
            self.entries[keys] = Entry(
                lastSeen: flags & Self.wasSeenFlag == 0 ? nil : WallTime(milliseconds: milliseconds),
                isForgotten: flags & Self.isForgottenFlag != 0
            )
        }
    }

    /// For each device its keys, flags, and the time in eight bytes.
    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        for (keys, entry) in self.entries.sorted(by: { $0.key < $1.key }) {
            bytes += keys.device.bytes.array
            bytes += keys.staticKey.bytes.array
            bytes.append(
                (entry.isForgotten ? Self.isForgottenFlag : 0) | (entry.lastSeen == nil ? 0 : Self.wasSeenFlag)
            )
            bytes.appendBigEndian(entry.lastSeen?.milliseconds ?? 0)
        }
        return bytes
    }
}

/// What is known of other devices' logs, and what of all that is stored.
struct PeerMemory {
    /// What other devices have said that they have stored.
    var acknowledgements = Acknowledgements()
    var storedAcknowledgements = Acknowledgements()
    var storedDevices = DeviceMemory()
    /// What was left with some of them for others.
    var left = LeftParcels()
}

extension Node where Store: ~Copyable {
    /// Keeps when devices were last seen, and which are forgotten, if that has changed.
    ///
    /// Those that are connected are seen now.
    package mutating func rememberDevices(at now: ClockReading) {
        for connection in self.readyConnections {
            if let keys = connection.keys { self.book[keys]?.lastSeen = now.wall }
        }
        do throws(StoreError) {
            try self.saveDeviceMemory()
        } catch {
            self.note(error)
        }
    }

    /// Forgets a device that is gone: nobody waits for it, or looks for it, until it comes back by itself.
    ///
    /// Returns false if it is connected, and so not gone.
    package mutating func forget(_ device: DeviceID) throws(StoreError) -> Bool {
        guard !self.readyConnections.contains(where: { $0.device == device }) else { return false }
        for keys in self.book.sortedKeys where keys.device == device { self.book[keys]?.isForgotten = true }
        try self.saveDeviceMemory()
        for connection in self.connections.values.filter({ $0.expected?.device == device }) { self.drop(connection) }
        return true
    }

    /// A device that was forgotten has come back.
    mutating func recall(_ keys: PeerKeys) {
        guard self.book[keys]?.isForgotten ?? false else { return }
        self.book[keys]?.isForgotten = false
        self.rememberDevices(at: self.now)
    }

    /// Reads what an earlier run remembered.
    mutating func restoreDeviceMemory(_ memory: DeviceMemory) {
        for (keys, entry) in memory.entries {
            self.book[keys]?.lastSeen = entry.lastSeen
            self.book[keys]?.isForgotten = entry.isForgotten
        }
        self.memory.storedDevices = memory
    }

    private mutating func saveDeviceMemory() throws(StoreError) {
        var memory = DeviceMemory()
        for keys in self.book.sortedKeys {
            guard let entry = self.book[keys], entry.lastSeen != nil || entry.isForgotten else { continue }
            memory.entries[keys] = DeviceMemory.Entry(lastSeen: entry.lastSeen, isForgotten: entry.isForgotten)
        }
        self.noteAcknowledgements()
        let acknowledgements = self.memory.acknowledgements
        guard memory != self.memory.storedDevices || acknowledgements != self.memory.storedAcknowledgements else {
            return
        }
        let bytes = memory.encoded
        try self.replica.store.write { (transaction: inout Store.Transaction) throws(StoreError) in
            try transaction.setFact(NodeFact.devices, bytes)
            try transaction.setFact(NodeFact.acknowledgements, acknowledgements.encoded)
        }
        self.memory.storedDevices = memory
        self.memory.storedAcknowledgements = acknowledgements
    }
}
