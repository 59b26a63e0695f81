package import CRDTCore

/// How many bytes of runs may be under way to a peer.
///
/// What is under way when a link breaks is sent again over the next one. So a connection starts with a small window
/// that grows with what the peer has acknowledged as durable: a link that breaks after every 100 kB still makes
/// progress, and repeats little more than `windowByteCountFirst` and a sixteenth of what it carried.
package struct SendWindow: Hashable, Sendable {
    package private(set) var underWay = 0
    private var acknowledged = 0

    package init() {}

    /// One of a size, as that of a peer which has acknowledged much.
    init(byteCount: Int) {
        self.acknowledged = max(0, byteCount - TransferLimits.windowByteCountFirst) * TransferLimits.windowGrowthDivisor
    }

    package var byteCount: Int {
        let grown = TransferLimits.windowByteCountFirst + self.acknowledged / TransferLimits.windowGrowthDivisor
        return min(grown, TransferLimits.windowByteCountMax)
    }

    /// Whether the peer has acknowledged anything.
    package var hasCarried: Bool { self.acknowledged > 0 }

    /// Negative after a change larger than the window.
    package var free: Int { self.byteCount - self.underWay }

    package mutating func sent(_ byteCount: Int) { self.underWay += byteCount }

    /// False if the peer acknowledges more than is under way.
    package mutating func acknowledge(_ byteCount: UInt64) -> Bool {
        guard byteCount <= UInt64(self.underWay) else { return false }
        self.underWay -= Int(byteCount)
        // More than this no longer widens the window.
        let enough = TransferLimits.windowByteCountMax * TransferLimits.windowGrowthDivisor
        self.acknowledged = min(self.acknowledged + Int(byteCount), enough)
        return true
    }
}

/// The sizes of the exchange of changes.
package enum TransferLimits {
    /// Bytes of runs that may be under way to a peer before it gives credit: at the start, and ever.
    package static let windowByteCountFirst = 8 << 10
    package static let windowByteCountMax = 4 << 20
    /// The window grows by one byte for so many that are acknowledged as durable.
    package static let windowGrowthDivisor = 16
    /// No more runs are handed to a connection while this many bytes wait in it.
    package static let unsentByteCountMax = 1 << 20
    /// Bytes of several messages that are handed to the transport as one.
    package static let joinedByteCountMax = 16 << 10
    /// How much one run carries when streaming: hardly more than fits the window, and a share of a large one.
    ///
    /// So the receiver stores one run while the next are under way. On the way a run takes half of its size or less.
    package static func streamed(_ window: SendWindow) -> RunLimits {
        let share = min(max(window.byteCount / 4, self.windowByteCountFirst), 512 << 10)
        return RunLimits(
            changeCountMax: Limits.runChangeCountMax,
            operationCountMax: 1 << 14,
            byteCountMax: 2 * max(1, min(share, window.free))
        )
    }
    /// Segments among which the next run is chosen: that of the earliest change, so that causes mostly come before
    /// effects.
    package static let candidateCountMax = 64
    /// Messages about ranges answered in one session: each costs a look at the whole frontier, and honest peers come
    /// to fewer than one for each bit of a replica's id.
    package static let rangesCountMax = 64
    /// Probes answered in one session.
    package static let probeCountMax = 4096
    /// Changes of which content waits to be sent once more; a peer for which more would wait is dropped.
    package static let givenChangeCountMax = 4096
    /// So many changes are rather sent twice than asked for.
    package static let repeatedChangeCountMax: UInt64 = 16
    /// A peer that lets more bytes than this wait for it is dropped: it asks and does not take the answers.
    package static let unsentByteCountLimit = 16 << 20
    /// Parts of one comparison of frontiers that may be open: many more than honest peers come to.
    package static let openSpanCountMax = 4096
    /// Entries of a peer that are kept until they mean something here: in all, and of one chain.
    package static let unknownEntryCountMax = 1 << 16
    package static let unknownEntryCountMaxByChain = 256
    /// How long an announced change may take to come by another way before we ask for it, in milliseconds.
    package static let graftDelay: UInt64 = 300
}
