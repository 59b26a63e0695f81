/// Says to which action of which program a change belongs: the last operation of the change.
///
/// An action is what somebody did in one go, and what an undo takes back in one. Without a statement, a change is an
/// action by itself, of the program that made the change before it in its chain; a chain begins with those of the
/// program that has no name.
package struct ActionStatement: Hashable, Sendable {
    /// The name of the program; empty for the one that has none.
    package var label: String
    /// The stamp of its author's change with which the action began, in whatever circle; nil if it begins here.
    package var start: Stamp?
    /// What the change has to do with what its author had written for the action before.
    package var link: ActionLink

    package init(label: String, start: Stamp? = nil, link: ActionLink = .follows) {
        (self.label, self.start, self.link) = (label, start, start == nil ? .follows : link)
    }

    /// Appends the canonical bytes.
    func encode(to bytes: inout [UInt8]) {
        bytes.appendPrefixed(self.label)
        if let start = self.start { bytes.appendBigEndian(start.rawValue) }
        if self.link != .follows { bytes.append(self.link.rawValue) }
    }

    /// Reads a statement that fills all of `payload`.
    init(decoding payload: ArraySlice<UInt8>) throws(WireError) {
        var reader = ByteReader(Array(payload))
        self.label = try reader.text(atMost: Limits.labelByteCountMax)
        self.link = .follows
        if reader.remaining > 0 { self.start = Stamp(rawValue: try reader.bigEndian()) }
        if reader.remaining > 0 {
            guard let link = ActionLink(rawValue: try reader.byte()), link != .follows else { throw .badInteger }
            self.link = link
        }
        try reader.finish()
    }
}

/// What a change has to do with what its author had written before for the action that it belongs to.
package enum ActionLink: UInt8, Hashable, Sendable {
    /// It came later.
    case follows = 0
    /// It is of one transaction with the change right before it, in another circle.
    case isPart = 1
    /// It says again, where an object is, what another change says where that was moved from meanwhile.
    case carriesOver = 2
}
