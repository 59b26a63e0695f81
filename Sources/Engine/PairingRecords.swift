internal import CRDTCore

/// A device that was paired here: admitted although the log does not know it yet.
struct PairedDevice: Hashable, Sendable {
    var device: DeviceID
    var staticKey: StaticKey
    var name: String
    /// Until it has come, it is kept for a time only: the welcome may have been lost, and nobody would know of it.
    var lapse: Lapse?

    /// When a device that has not come is forgotten.
    struct Lapse: Hashable, Sendable {
        /// Not before this wall time: it may be switched off for days after it was paired.
        var time: WallTime
        /// And not before this monotonic time, which is not stored: for a while the wall clock may be years ahead.
        var deadline: UInt64

        /// How long a device has to come for the first time: a week, and an hour of it while this process runs.
        static let wallMilliseconds: UInt64 = 7 * 86_400_000
        static let runningMilliseconds: UInt64 = 3_600_000

        static func after(_ now: Moment) -> Lapse {
            Lapse(
                time: now.wall.advanced(byMilliseconds: self.wallMilliseconds),
                deadline: now.monotonicMilliseconds + self.runningMilliseconds
            )
        }

        func hasCome(at now: Moment) -> Bool {
            self.time <= now.wall && self.deadline <= now.monotonicMilliseconds
        }
    }

    /// Those remembered in the store.
    static func all(
        in transaction: inout some StoreTransaction,
        at now: Moment
    ) throws(StoreError) -> [PairedDevice] {
        let lapses = try self.lapses(in: &transaction)
        var reader = ByteReader(try transaction.fact(NodeFact.paired) ?? [])
        var devices: [PairedDevice] = []
        do throws(WireError) {
            while reader.remaining > 0 {
                var paired = PairedDevice(
                    device: DeviceID(bytes: try reader.bytes32()),
                    staticKey: StaticKey(bytes: try reader.bytes32()),
                    name: try reader.text(atMost: Limits.nameByteCountMax)
                )
                if let time = lapses[paired.staticKey] {
                    paired.lapse = Lapse(time: time, deadline: Lapse.after(now).deadline)
                }
                devices.append(paired)
            }
        } catch {
            throw .damaged("the list of paired devices cannot be read")
        }
        return devices
    }

    private static func lapses(
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [StaticKey: WallTime] {
        var reader = ByteReader(try transaction.fact(NodeFact.lapses) ?? [])
        var lapses: [StaticKey: WallTime] = [:]
        do throws(WireError) {
            while reader.remaining > 0 {
                let key = StaticKey(bytes: try reader.bytes32())
                lapses[key] = WallTime(milliseconds: try reader.varint())
            }
        } catch {
            throw .damaged("the list of devices that have not come cannot be read")
        }
        return lapses
    }

    static func save(
        _ devices: [PairedDevice],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) {
        var bytes: [UInt8] = []
        var lapses: [UInt8] = []
        for device in devices {
            device.device.bytes.append(to: &bytes)
            device.staticKey.bytes.append(to: &bytes)
            bytes.appendPrefixed(Array(device.name.utf8))
            guard let lapse = device.lapse else { continue }
            device.staticKey.bytes.append(to: &lapses)
            lapses.appendVarint(lapse.time.milliseconds)
        }
        try transaction.setFact(NodeFact.paired, bytes)
        try transaction.setFact(NodeFact.lapses, lapses.isEmpty ? nil : lapses)
    }
}

/// An invite that has not been used and is not too old.
struct OpenInvite: Hashable, Sendable {
    var secret: Bytes32
    /// When it ends, in wall time.
    var expiry: WallTime
    /// When it ends in monotonic time, which is not stored: a wall clock that is set back makes no invite last longer.
    var deadline: UInt64

    func isOpen(at now: Moment) -> Bool { self.expiry > now.wall && self.deadline > now.monotonicMilliseconds }

    static func all(
        in transaction: inout some StoreTransaction,
        at now: Moment
    ) throws(StoreError) -> [OpenInvite] {
        var reader = ByteReader(try transaction.fact(NodeFact.invites) ?? [])
        var invites: [OpenInvite] = []
        do throws(WireError) {
            while reader.remaining > 0 {
                invites.append(
                    OpenInvite(
                        secret: try reader.bytes32(),
                        expiry: WallTime(milliseconds: try reader.varint()),
                        deadline: now.monotonicMilliseconds + Invite.lifetimeMilliseconds
                    )
                )
            }
        } catch {
            throw .damaged("the list of open invites cannot be read")
        }
        return invites
    }

    static func save(_ invites: [OpenInvite], in transaction: inout some StoreTransaction) throws(StoreError) {
        var bytes: [UInt8] = []
        for invite in invites {
            invite.secret.append(to: &bytes)
            bytes.appendVarint(invite.expiry.milliseconds)
        }
        try transaction.setFact(NodeFact.invites, bytes.isEmpty ? nil : bytes)
    }
}
