package import Engine

/// One connection: two ends, and a lane of bytes from each to the other.
package final class Wire {
    package let number: Int
    /// The dialler's end and the acceptor's.
    private(set) var ends: [WireEnd]
    var lanes = [ByteLane(), ByteLane()]
    var isConnected = false

    init(number: Int, dialler: WireEnd, acceptor: WireEnd) {
        self.number = number
        self.ends = [dialler, acceptor]
        dialler.attach(self, side: 0)
        acceptor.attach(self, side: 1)
    }

    /// Whether nothing can happen on it any more.
    package var isOver: Bool {
        !self.ends.contains { $0.state == .open } && !self.lanes.contains { !$0.segments.isEmpty }
    }

    /// What was to go wrong with bytes that were not sent yet does not.
    func heal() {
        for lane in self.lanes.indices {
            self.lanes[lane].bytesUntilCut = nil
            self.lanes[lane].bitToFlip = nil
        }
    }

    /// The machines at its ends; a stranger has none.
    func joins(_ left: Int, _ right: Int) -> Bool {
        let machines = self.ends.map(\.machine)
        return machines == [left, right] || machines == [right, left]
    }

    /// The lane that begins at a machine.
    func lane(from machine: Int) -> Int { self.ends[0].machine == machine ? 0 : 1 }
}

/// One end of a connection.
package final class WireEnd {
    /// The machine; nil for a stranger.
    let machine: Int?
    /// Which of the machine's processes has it.
    let incarnation: Int
    package let connection: ConnectionID
    package var state = State.open
    /// Whether it takes nothing of what is sent to it.
    var isDeaf = false
    /// The device that joins here, which has no machine yet.
    package weak var newcomer: Newcomer?
    private(set) weak var wire: Wire?
    private(set) var side = 0

    package enum State: Hashable, Sendable {
        case open
        case closed
        /// The power went: nobody is there to say that it is over.
        case vanished
    }

    init(of machine: Machine?, connection: ConnectionID) {
        self.machine = machine?.number
        self.incarnation = machine?.incarnation ?? 0
        self.connection = connection
    }

    /// Where in the network it is; strangers are nowhere in particular.
    package var place: Int? { self.machine ?? self.newcomer.map { 100 + $0.number } }

    fileprivate func attach(_ wire: Wire, side: Int) {
        self.wire = wire
        self.side = side
    }
}

/// Bytes on their way from one end to the other, in order.
struct ByteLane {
    var segments: [Segment] = []
    /// When the last of them arrives: none overtakes another.
    var lastArrival = VirtualTime.zero
    /// Whether the first waits for the link to work again.
    var isHeld = false
    /// Whether the arrival of the first is scheduled.
    var isScheduled = false
    /// After how many more bytes the connection ends.
    var bytesUntilCut: Int?
    /// Which bit of the next bytes arrives changed.
    var bitToFlip: Int?

    struct Segment {
        var arrival: VirtualTime
        var content: Content
        /// The entry of its sending in the trace.
        var traceNumber: Int?
    }

    package enum Content {
        /// The dialler asks to be let in, or is told that it is.
        case opening
        case bytes([UInt8])
        /// Nothing more comes.
        case end
    }
}
