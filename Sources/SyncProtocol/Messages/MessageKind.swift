internal import CRDTCore

/// The first byte of a message.
package enum MessageKind: UInt8, CaseIterable {
    case hello = 1
    case welcome = 2
    case ranges = 3
    case run = 4
    case caughtUp = 5
    case stored = 6
    case credit = 7
    case eagerness = 8
    case probe = 9
    case ping = 10
    case pong = 11
    case join = 12
    case member = 13
    case wanted = 14
    case given = 15
    case state = 16
    case sums = 17
    case objects = 18
    case ended = 19
    case parcel = 20
    case parcelTaken = 21
    case blobWant = 22
    case blobProof = 23
    case blobPiece = 24
    case blobLacking = 25
    case blobCancel = 26
    case blobHere = 27
}

/// Every size and count of messages, by name.
package enum MessageLimits {
    /// Bytes of a run once decompressed: of any that `Run.validate` accepts.
    package static let decompressedByteCountMax =
        Limits.runByteCountMax + Limits.redactionByteCountMax + Limits.runHeaderByteCountMax
    /// Bytes of a run as it travels: what compression makes longer travels as it is, behind one byte.
    package static let runByteCountMax = decompressedByteCountMax + 1
    /// So many times as long as a compressed run is it may be once decompressed.
    ///
    /// What compresses better travels as it is, so that nobody has to hold, or keep, many times what he was sent.
    package static let compressionRatioMax = 16
    /// Ranges in one message.
    package static let rangeCountMax = 4096
    /// Entries in all ranges of one message.
    package static let rangeEntryCountMax = 4096
    /// Entries in one announcement of what is stored.
    package static let storedEntryCountMax = 4096
    /// Changes in one message that asks for their content.
    package static let wantedChangeCountMax = 256
    /// Groups of objects whose members are told in one comparison of states.
    package static let listedGroupCountMax = 16
    /// Objects of all groups in one message.
    package static let listedObjectCountMax = 8192
    /// Circles in one message about those that have ended.
    package static let endedCircleCountMax = 256
    /// Chains of one of them of which it is said how far they count.
    package static let endedChainCountMax = 64
    /// Such messages in one session, each of which may be a write to the disk.
    package static let endedMessageCountMax = 256
    /// Ranges of operations of each.
    package static let wantedRangeCountMax = 16
    /// Points of one probe.
    package static let probePointCountMax = 64

    /// The most bytes a message of a kind may have after its kind and length.
    static func byteCountMax(of kind: MessageKind) -> Int {
        switch kind {
        case .hello: 512
        case .welcome, .member: 4096
        case .join: 1024
        case .ranges: 512 << 10
        case .run: self.runByteCountMax
        case .caughtUp, .given: 0
        case .stored: 256 << 10
        case .credit, .ping, .pong: 10
        case .eagerness: 1
        case .probe: 8 << 10
        case .state: 2 * Bytes32.byteCount
        case .parcel: ParcelLimits.byteCountMax
        case .parcelTaken: Bytes32.byteCount
        case .blobWant: 5 + Bytes32.byteCount + 3 + 8 + 1
        case .blobProof: 7 + (BlobShape.groupLeafCount + BlobShape.siblingCountMax) * Bytes32.byteCount
        case .blobPiece: 9 + BlobPiece.byteCountMax
        case .blobLacking: 5 + 8 + 1
        case .blobCancel: 5
        case .blobHere: Bytes32.byteCount
        case .sums: Bytes32.byteCount + 8 * SettledDigest.groupCount
        case .objects:
            Bytes32.byteCount + 1 + 2 * self.listedGroupCountMax + 2
                + self.listedObjectCountMax * (Bytes16.byteCount + 8)
        case .ended:
            2 + self.endedCircleCountMax
                * (1 + Bytes32.byteCount + Bytes16.byteCount + 1 + self.endedChainCountMax * (Bytes16.byteCount + 10))
        case .wanted:
            2 + self.wantedChangeCountMax
                * (Bytes16.byteCount + 10 + Bytes32.byteCount + 1 + self.wantedRangeCountMax * 6)
        }
    }
}
