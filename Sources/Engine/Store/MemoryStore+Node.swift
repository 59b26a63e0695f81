package import CRDTCore

extension MemoryStore: NodeStore {}

/// What a store in memory keeps for the device.
private struct MemoryDeviceRows: Sendable {
    var facts: [String: [UInt8]] = [:]
    var devices: [PairedDeviceRecord] = []
    var invites: [InviteRecord] = []
    var addresses: [AddressRecord] = []
    /// The first that came first.
    var parcels: [(record: ParcelRecord, recipients: Set<DeviceID>)] = []
    var writes: [ExactText: RememberedWrite] = [:]
    /// The names of remembered writes, the oldest first.
    var writeNames: [ExactText] = []
}

extension MemoryTransaction: NodeTransaction {
    private var rows: MemoryDeviceRows { self.beside as? MemoryDeviceRows ?? MemoryDeviceRows() }

    /// Changes the rows where they are: nobody else holds them meanwhile, so that nothing is copied.
    private mutating func update(_ change: (inout MemoryDeviceRows) -> Void) {
        var rows = self.rows
        self.beside = nil
        change(&rows)
        self.beside = rows
    }

    package mutating func fact(_ name: String) -> [UInt8]? { self.rows.facts[name] }

    package mutating func setFact(_ name: String, _ value: [UInt8]?) { self.update { $0.facts[name] = value } }

    package mutating func pairedDevices() -> [PairedDeviceRecord] { self.rows.devices }

    package mutating func setPairedDevices(_ devices: [PairedDeviceRecord]) { self.update { $0.devices = devices } }

    package mutating func invites() -> [InviteRecord] { self.rows.invites }

    package mutating func setInvites(_ invites: [InviteRecord]) { self.update { $0.invites = invites } }

    package mutating func addresses() -> [AddressRecord] { self.rows.addresses }

    package mutating func setAddresses(_ addresses: [AddressRecord]) { self.update { $0.addresses = addresses } }

    package mutating func addParcel(_ parcel: ParcelRecord, for recipients: [DeviceID]) {
        guard !self.rows.parcels.contains(where: { $0.record.id == parcel.id }) else { return }
        self.update { $0.parcels.append((parcel, Set(recipients))) }
    }

    package mutating func nextParcel(for device: DeviceID) -> [UInt8]? {
        self.rows.parcels.first { $0.recipients.contains(device) }?.record.bytes
    }

    package mutating func removeParcel(_ id: Hash256, for device: DeviceID) {
        self.update { rows in
            for place in rows.parcels.indices where rows.parcels[place].record.id == id {
                rows.parcels[place].recipients.remove(device)
            }
            rows.parcels.removeAll { $0.recipients.isEmpty }
        }
    }

    package mutating func removeParcels(expiredAt time: WallTime) {
        self.update { rows in rows.parcels.removeAll { $0.record.expiry <= time } }
    }

    package mutating func removeParcels(of user: UserID, beyond byteCount: Int) {
        self.update { rows in
            var rest = rows.parcels.filter { $0.record.user == user }
                .reduce(0) { $0 + $1.record.countedByteCount }
            rows.parcels.removeAll { parcel in
                guard parcel.record.user == user, rest > byteCount else { return false }
                rest -= parcel.record.countedByteCount
                return true
            }
        }
    }

    package mutating func parcelCounts() -> (count: Int, byteCount: Int) {
        (self.rows.parcels.count, self.rows.parcels.reduce(0) { $0 + $1.record.countedByteCount })
    }

    package mutating func rememberedWrite(_ name: String) -> RememberedWrite? { self.rows.writes[ExactText(name)] }

    package mutating func remember(_ write: RememberedWrite, as name: String) {
        self.update { rows in
            rows.writes[ExactText(name)] = write
            rows.writeNames.append(ExactText(name))
            let surplus = rows.writeNames.count - RememberedWrite.countMin
            guard surplus >= RememberedWrite.surplusCountMax else { return }
            for name in rows.writeNames.prefix(surplus) { rows.writes[name] = nil }
            rows.writeNames.removeFirst(surplus)
        }
    }
}
