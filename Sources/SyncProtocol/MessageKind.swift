/// The first byte of a message.
enum MessageKind: UInt8, CaseIterable {
    case hello = 1
    case welcome = 2
    case ranges = 3
    case run = 4
    case caughtUp = 5
    case stored = 6
    case credit = 7
    case eagerness = 8
    case held = 9
    case forkProbe = 10
    case forkProof = 11
    case branchRequest = 12
    case branch = 13
    case ping = 14
    case pong = 15
}

/// Every size and count of messages, by name.
package enum MessageLimits {
    /// Bytes of a run as it travels, compressed.
    package static let runByteCountMax = 9 << 20
    /// Bytes of a run once decompressed.
    package static let decompressedByteCountMax = 20 << 20
    /// Ranges in one message.
    package static let rangeCountMax = 4096
    /// Entries in all ranges of one message.
    package static let rangeEntryCountMax = 4096
    /// Dots in one announcement of what is stored.
    package static let storedDotCountMax = 4096
    /// Points of one fork probe.
    package static let probePointCountMax = 64
    /// Points of one request for branches.
    package static let branchPointCountMax = 128

    /// The most bytes a message of a kind may have after its kind and length.
    static func byteCountMax(of kind: MessageKind) -> Int {
        switch kind {
        case .hello: 512
        case .welcome: 4096
        case .ranges: 512 << 10
        case .run, .branch: self.runByteCountMax
        case .caughtUp: 0
        case .stored: 128 << 10
        case .credit, .ping, .pong: 10
        case .eagerness: 1
        case .held: 64
        case .forkProbe: 8 << 10
        case .forkProof: 2 << 20
        case .branchRequest: 8 << 10
        }
    }
}
