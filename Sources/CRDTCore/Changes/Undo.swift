/// Whose actions an undo takes back: those of one user, and of these the ones that a device and a program have done.
package struct UndoScope: Hashable, Sendable {
    /// Nil for all devices of the user.
    package var device: DeviceID?
    /// The name of the program, as its changes have it; nil for all.
    package var label: String?

    package init(device: DeviceID?, label: String?) { (self.device, self.label) = (device, label) }

    func contains(_ device: DeviceID?) -> Bool { self.device.map { $0 == device } ?? true }

    func contains(label: String) -> Bool { self.label.map { $0 == label } ?? true }
}

/// Says of its change that it takes back another change of the same user.
///
/// A redo takes back an undo. It is the first operation of its change; the edits behind it do the work. So a device
/// that does not know it merges the same. It tells the next undo in the same scope what is taken back already. An
/// action of several changes is taken back by as many, the last of them first.
package struct Undo: Hashable, Sendable {
    /// The change that is taken back; of a redo, an undo, and of what a merge had brought, an undo or redo too.
    package var target: NamedChange
    package var isRedo: Bool
    /// Nil for the actions of the author's own device and of the program that makes the change.
    package var scope: UndoScope?
    /// The change that had merged what is taken back, if that is of another timeline.
    package var merge: NamedChange?
    /// With which change the action begins that the next undo in the scope takes back, or of a redo, the one that the
    /// next redo does again; nil for nothing.
    ///
    /// So nobody has to go through all that lies between, which is taken back already.
    package var next: NamedChange?

    package init(
        target: NamedChange,
        isRedo: Bool,
        scope: UndoScope? = nil,
        merge: NamedChange? = nil,
        next: NamedChange? = nil
    ) {
        (self.target, self.isRedo, self.scope, self.merge, self.next) = (target, isRedo, scope, merge, next)
    }

    /// What of an undo has one: the bits of its first byte.
    private enum Flag {
        static let isRedo: UInt8 = 1
        static let next: UInt8 = 2
        static let merge: UInt8 = 4
        static let scope: UInt8 = 8
        static let device: UInt8 = 16
        static let label: UInt8 = 32
    }

    /// Appends the canonical bytes.
    package func encode(to bytes: inout [UInt8]) {
        var flags = (self.isRedo ? Flag.isRedo : 0) | (self.next == nil ? 0 : Flag.next)
        if self.merge != nil { flags |= Flag.merge }
        if let scope = self.scope {
            flags |= Flag.scope | (scope.device == nil ? 0 : Flag.device) | (scope.label == nil ? 0 : Flag.label)
        }
        bytes.append(flags)
        self.target.encode(to: &bytes)
        self.next?.encode(to: &bytes)
        self.merge?.encode(to: &bytes)
        self.scope?.device?.bytes.append(to: &bytes)
        if let label = self.scope?.label { bytes.appendPrefixed(label) }
    }

    /// Reads an undo that fills all of `payload`.
    package init(decoding payload: ArraySlice<UInt8>) throws(WireError) {
        var reader = ByteReader(Array(payload))
        let flags = try reader.byte()
        guard flags < Flag.label * 2, flags & Flag.scope != 0 || flags < Flag.device else { throw .notCanonical }
        self.isRedo = flags & Flag.isRedo != 0
        self.target = try NamedChange(decoding: &reader)
        self.next = flags & Flag.next != 0 ? try NamedChange(decoding: &reader) : nil
        self.merge = flags & Flag.merge != 0 ? try NamedChange(decoding: &reader) : nil
        if flags & Flag.scope != 0 {
            var scope = UndoScope(device: nil, label: nil)
            if flags & Flag.device != 0 { scope.device = DeviceID(bytes: try reader.bytes32()) }
            if flags & Flag.label != 0 { scope.label = try reader.text(atMost: Limits.labelByteCountMax) }
            self.scope = scope
        }
        try reader.finish()
    }
}
