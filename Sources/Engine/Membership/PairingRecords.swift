internal import CRDTCore

/// Whom this device lets in beside those whom the log knows.
struct Admissions {
    var invites: [OpenInvite] = []
    /// Devices that were paired or met here and are not in the log yet.
    var paired: [PairedDevice] = []
}

/// A device that was paired or met here: admitted although the log does not know it yet.
struct PairedDevice: Hashable, Sendable {
    let introduction: Introduction
    let keys: PeerKeys
    let author: ChainAuthor
    /// Until it has come, it is kept for a time only: the welcome may have been lost, and nobody would know of it.
    var lapse: Lapse?

    /// Nil if no certificate says which keys it has.
    init?(_ introduction: Introduction, lapse: Lapse?) {
        guard let certificate = introduction.certificates.first, let author = ChainAuthor(introduction) else {
            return nil
        }
        (self.introduction, self.lapse) = (introduction, lapse)
        (self.keys, self.author) = (certificate.keys, author)
    }

    var device: DeviceID { self.keys.device }
    var name: String { self.introduction.deviceName }

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
        var devices: [PairedDevice] = []
        for record in try transaction.pairedDevices() {
            let lapse = record.lapse.map { Lapse(time: $0, deadline: deadline) }
            guard let introduction = try? Introduction(decoding: record.introduction[...]),
                let device = PairedDevice(introduction, lapse: lapse)
            else { throw .damaged("a paired device in the database cannot be read") }
            devices.append(device)
        }
        return devices
    }

    static func save(
        _ devices: [PairedDevice],
        in transaction: inout some NodeTransaction
    ) throws(StoreError) {
        try transaction.setPairedDevices(
            devices.map { device in
                var bytes: [UInt8] = []
                device.introduction.encode(to: &bytes)
                return PairedDeviceRecord(introduction: bytes, lapse: device.lapse?.time)
            }
        )
    }
}

/// An invite that has not been used and is not too old.
struct OpenInvite: Hashable, Sendable {
    var secret: Bytes32
    var guest: Guest
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
            OpenInvite(secret: $0.secret, guest: Guest($0.person), expiry: $0.expiry, deadline: deadline)
        }
    }

    static func save(_ invites: [OpenInvite], in transaction: inout some NodeTransaction) throws(StoreError) {
        try transaction.setInvites(
            invites.map { InviteRecord(secret: $0.secret, person: $0.guest.recordedName, expiry: $0.expiry) }
        )
    }
}

extension Guest {
    /// `name`: as `recordedName` says it.
    fileprivate init(_ name: String?) {
        switch name {
        case nil: self = .device
        case ""?: self = .returning
        case let name?: self = .person(name)
        }
    }

    /// What a person is called; empty for somebody who was called something before.
    fileprivate var recordedName: String? {
        switch self {
        case .device: nil
        case .person(let name): name
        case .returning: ""
        }
    }
}
