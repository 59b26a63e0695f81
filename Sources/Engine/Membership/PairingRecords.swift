internal import CRDTCore

/// Whom this device lets in beside those whom the log knows.
struct Admissions {
    var invites: [OpenInvite] = []
    /// Devices that were paired here and are not in the log yet.
    var paired: [PairedDevice] = []
}

/// A device that was paired here: admitted although the log does not know it yet.
struct PairedDevice: Hashable, Sendable {
    var device: DeviceID
    var staticKey: StaticKey
    var name: String
    /// Until it has come, it is kept for a time only: the welcome may have been lost, and nobody would know of it.
    var lapse: Lapse?

    var keys: PeerKeys { PeerKeys(device: self.device, staticKey: self.staticKey) }

    /// When a device that has not come is forgotten.
    struct Lapse: Hashable, Sendable {
        /// Not before this wall time: it may be switched off for days after it was paired.
        var time: WallTime
        /// And not before this monotonic time, which is not stored: for a while the wall clock may be years ahead.
        var deadline: UInt64

        /// How long a device has to come for the first time: a week, and an hour of it while this process runs.
        static let wallMilliseconds: UInt64 = 7 * 86_400_000
        static let runningMilliseconds: UInt64 = 3_600_000

        static func after(_ now: ClockReading) -> Lapse {
            Lapse(
                time: now.wall.advanced(byMilliseconds: self.wallMilliseconds),
                deadline: now.monotonicMilliseconds + self.runningMilliseconds
            )
        }

        func hasCome(at now: ClockReading) -> Bool {
            self.time <= now.wall && self.deadline <= now.monotonicMilliseconds
        }
    }

    /// Those remembered in the store.
    static func all(
        in transaction: inout some NodeTransaction,
        at now: ClockReading
    ) throws(StoreError) -> [PairedDevice] {
        let deadline = Lapse.after(now).deadline
        return try transaction.pairedDevices().map { record in
            let lapse = record.lapse.map { Lapse(time: $0, deadline: deadline) }
            return PairedDevice(device: record.device, staticKey: record.staticKey, name: record.name, lapse: lapse)
        }
    }

    static func save(
        _ devices: [PairedDevice],
        in transaction: inout some NodeTransaction
    ) throws(StoreError) {
        try transaction.setPairedDevices(
            devices.map {
                PairedDeviceRecord(device: $0.device, staticKey: $0.staticKey, name: $0.name, lapse: $0.lapse?.time)
            }
        )
    }
}

/// An invite that has not been used and is not too old.
struct OpenInvite: Hashable, Sendable {
    var secret: Bytes32
    /// When it ends, in wall time.
    var expiry: WallTime
    /// When it ends in monotonic time, which is not stored: a wall clock that is set back makes no invite last longer.
    var deadline: UInt64

    func isOpen(at now: ClockReading) -> Bool { self.expiry > now.wall && self.deadline > now.monotonicMilliseconds }

    static func all(
        in transaction: inout some NodeTransaction,
        at now: ClockReading
    ) throws(StoreError) -> [OpenInvite] {
        let deadline = now.monotonicMilliseconds + Invite.lifetimeMilliseconds
        return try transaction.invites().map {
            OpenInvite(secret: $0.secret, expiry: $0.expiry, deadline: deadline)
        }
    }

    static func save(_ invites: [OpenInvite], in transaction: inout some NodeTransaction) throws(StoreError) {
        try transaction.setInvites(invites.map { InviteRecord(secret: $0.secret, expiry: $0.expiry) })
    }
}
