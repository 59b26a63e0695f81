/// Whose steps an undo takes back.
package enum UndoScope: Hashable, Sendable {
    /// Those of one device.
    case device(DeviceID)
    /// Those of all devices of the user.
    case user

    func contains(_ device: DeviceID?) -> Bool {
        switch self {
        case .device(let one): one == device
        case .user: true
        }
    }
}

/// Says of its change that it takes back another change of the same user.
///
/// A redo takes back an undo. It is the first operation of its change; the edits behind it do the work. So a device
/// that does not know it merges the same. It tells the next undo in the same scope what is taken back already.
package struct Undo: Hashable, Sendable {
    /// The change that is taken back; of a redo, an undo.
    package var target: NamedChange
    package var isRedo: Bool
    /// Whose steps it goes through; nil for those of the author's own device.
    package var scope: UndoScope?
    /// What the next undo in the scope takes back, or of a redo, what the next redo does again; nil for nothing.
    ///
    /// So nobody has to go through all that lies between, which is taken back already.
    package var next: NamedChange?

    package init(target: NamedChange, isRedo: Bool, scope: UndoScope? = nil, next: NamedChange? = nil) {
        (self.target, self.isRedo, self.scope, self.next) = (target, isRedo, scope, next)
    }

    /// What of an undo has one: the bits of its first byte.
    private enum Flag {
        static let isRedo: UInt8 = 1
        static let next: UInt8 = 2
        static let device: UInt8 = 4
        static let user: UInt8 = 8
    }

    /// Appends the canonical bytes.
    package func encode(to bytes: inout [UInt8]) {
        var flags = (self.isRedo ? Flag.isRedo : 0) | (self.next == nil ? 0 : Flag.next)
        switch self.scope {
        case nil: break
        case .device: flags |= Flag.device
        case .user: flags |= Flag.user
        }
        bytes.append(flags)
        self.target.encode(to: &bytes)
        self.next?.encode(to: &bytes)
        if case .device(let device) = self.scope { device.bytes.append(to: &bytes) }
    }

    /// Reads an undo that fills all of `payload`.
    package init(decoding payload: ArraySlice<UInt8>) throws(WireError) {
        var reader = ByteReader(Array(payload))
        let flags = try reader.byte()
        guard flags < Flag.device + Flag.user else { throw .notCanonical }
        self.isRedo = flags & Flag.isRedo != 0
        self.target = try NamedChange(decoding: &reader)
        self.next = flags & Flag.next != 0 ? try NamedChange(decoding: &reader) : nil
        self.scope = flags & Flag.user != 0 ? .user : nil
        if flags & Flag.device != 0 { self.scope = .device(DeviceID(bytes: try reader.bytes32())) }
        try reader.finish()
    }
}
