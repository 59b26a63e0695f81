package import CRDTCore

/// How two devices come to hold the same changes, as one of them sees it: hello, the comparison of frontiers, then
/// whatever either has that the other lacks.
///
/// It is told what the peer says, looks at the log, and returns what must be done. Whoever holds it stores what comes,
/// and tells it when the log has grown.
package struct SyncSession: Sendable {
    package enum Phase: Hashable, Sendable {
        /// The peer has said nothing yet.
        case awaitingHello
        /// What the peer holds is not wholly known; nothing is sent yet.
        case comparing
        case streaming
        /// The peer violated the protocol, and is heard no more.
        case closing
    }

    /// What must be done, in this order.
    package enum Action: Hashable, Sendable {
        case send(Message)
        /// The peer says who it is.
        case greeted(Hello)
        /// `open` says how the frontiers are to be compared: with what the peer reads, now that it is known.
        case open
        /// What the peer's clock shows, and whether it wants to know what ours does.
        case heardTime(WallTime?, isAsked: Bool)
        /// `next` may have more to send.
        case resume
        /// All has come that the peer has of what it was asked for.
        case given
        case violation(String)
    }

    package private(set) var phase = Phase.awaitingHello
    private let isDialled: Bool
    /// The circles that the peer reads, as far as is known here; it is told of no others.
    package var scope = CircleScope.home {
        didSet { if self.scope != oldValue { self.unannounced = SegmentIndex(rawValue: 0) } }
    }
    let cryptography: SodiumCryptography
    /// What was stored when our hello was made, until the peer's comes, and its fingerprint.
    private var helloFrontier = Frontier()
    private var helloFingerprint = Hash256.zero
    /// Whether it was known who the peer is when our hello was made.
    private var wasKnown = true
    private var comparison = FrontierComparison()

    /// How far along each of our segments the peer is known to have stored.
    var held = SeenSegments()
    /// What it had said in other sessions, of circles of which it says nothing in this one.
    var recalled = SeenSegments()
    /// How far along each of our segments we have sent, or the peer holds.
    package internal(set) var sent = SeenSegments()
    /// The chains of which the peer holds what we do not.
    var chains: [ReplicaID: ChainProgress] = [:]
    /// How many entries of the peer they keep.
    package internal(set) var unknownEntryCount = 0
    private var probeCount = 0
    private var rangesCount = 0

    package internal(set) var window = SendWindow()
    private var uncreditedByteCount = 0
    /// The peer wants other devices' changes announced, not pushed.
    private(set) var isPeerLazy = false
    /// From which segment on such a peer is to hear what lies here and was not sent; nil if nowhere.
    ///
    /// What comes now is announced as it comes; what lay here when the peer asked, or came to read it, is not.
    var unannounced: SegmentIndex?
    /// We asked the peer to announce only.
    private var askedForLazy = false
    var saidCaughtUp = false
    /// What the peer lacks of what chains are written under that are not sent before that.
    var withheld: [SegmentIndex: SegmentPoint] = [:]
    var peerIsCaughtUp = false
    /// Contents to be sent again, since the peer wants what it lacks of them; those that it has asked for come first.
    var given: [GivenContent] = []
    /// Whether the peer has asked for something that is not here.
    var hasAskedInVain = false
    /// Whether the peer has asked, and is to hear when all is sent.
    package internal(set) var owesGiven = false
    /// Whether we have asked, and the peer has not sent all.
    package private(set) var awaitsGiven = false
    /// When to ask the peer to push what it announced, in monotonic milliseconds.
    package private(set) var graftDeadline: UInt64?

    package init(isDialled: Bool, _ cryptography: SodiumCryptography) {
        self.isDialled = isDialled
        self.cryptography = cryptography
    }

    /// What would be sent to a device that is not there, of which it is known what it has stored.
    ///
    /// `byteCount`: how much may be sent.
    package init(
        toward held: SeenSegments,
        within scope: CircleScope,
        byteCount: Int,
        _ cryptography: SodiumCryptography
    ) {
        self.init(isDialled: false, cryptography)
        (self.held, self.sent, self.scope) = (held, held, scope)
        self.window = SendWindow(byteCount: byteCount)
        (self.phase, self.saidCaughtUp) = (.streaming, true)
    }

    /// The fingerprint for our hello.
    ///
    /// `isKnown`: whether it is known who the peer is, and so what it reads.
    package mutating func begin(
        isKnown: Bool = true,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Hash256 {
        self.wasKnown = isKnown
        self.helloFrontier = try Frontier(of: &transaction, within: self.scope)
        self.helloFingerprint = Frontier.fingerprint(self.helloFrontier.entries, self.cryptography)
        return self.helloFingerprint
    }

    /// Handles a message, but for runs, which are to be stored first.
    package mutating func receive(
        _ message: Message,
        at now: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [Action] {
        guard self.phase != .closing else { return [] }
        if case .hello(let hello) = message {
            guard self.phase == .awaitingHello else { return self.violation("a second hello") }
            return try self.greet(hello, in: &transaction)
        }
        guard self.phase != .awaitingHello else { return self.violation("a message before the hello") }
        switch message {
        case .hello, .run, .state, .sums, .objects, .ended, .parcel, .parcelTaken: return []
        case .blob: return self.violation("a message about a blob, of which no node carries any")
        case .welcome: return self.violation("a welcome to a device that did not ask for one")
        case .join: return self.violation("a request to join by a device that has joined")
        case .member: return self.violation("an introduction after the hello")
        case .ranges(let claims): return try self.compare(claims, in: &transaction)
        case .caughtUp:
            self.peerIsCaughtUp = true
            // Who the peer is was not known to us, and it knew us and had nothing: there is nothing to compare.
            if self.phase == .comparing, !self.wasKnown {
                self.comparison.learnAll()
                self.phase = .streaming
                return [.resume]
            }
        case .stored(let entries): return try self.peerStored(entries, at: now, in: &transaction)
        case .credit(let byteCount):
            guard self.window.acknowledge(byteCount) else { return self.violation("more credit than was used") }
            return [.resume]
        case .eagerness(let isEager):
            self.isPeerLazy = !isEager
            self.unannounced = SegmentIndex(rawValue: 0)
            return [.resume]
        case .probe(let probe): return try self.answer(probe, in: &transaction)
        case .wanted(let contents):
            guard !self.owesGiven else { return self.violation("more is wanted before all was given") }
            self.owesGiven = true
            var asked: [GivenContent] = []
            for content in contents {
                let entry = content.change
                let place = try transaction.place(of: entry.replica, sequence: entry.sequence, hash: entry.hash)
                if let place, self.isShared(place.segment, transaction) {
                    asked.append(GivenContent(change: place, places: content.places))
                } else {
                    self.hasAskedInVain = true
                }
            }
            self.given.insert(contentsOf: asked, at: 0)
            return [.resume]
        case .given:
            guard self.awaitsGiven else { return self.violation("more was given than wanted") }
            self.awaitsGiven = false
            return [.given]
        case .ping(let time): return [.heardTime(time, isAsked: true)]
        case .pong(let time): return [.heardTime(time, isAsked: false)]
        }
        return []
    }

    /// Whether the peer reads what is on a segment.
    func isShared(_ segment: SegmentIndex, _ transaction: some StoreTransaction) -> Bool {
        self.scope.contains(transaction.progress(of: segment).circle)
    }

    private mutating func violation(_ reason: String) -> [Action] {
        self.phase = .closing
        return [.violation(reason)]
    }

    // MARK: - Comparing frontiers

    private mutating func greet(
        _ hello: Hello,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [Action] {
        var frontier = Frontier()
        swap(&frontier, &self.helloFrontier)
        self.phase = .comparing
        if self.wasKnown, hello.fingerprint == self.helloFingerprint {
            self.comparison.learnAll()
            self.phase = .streaming
            for entry in frontier.entries { _ = try self.note(entry, in: &transaction) }
            return [.greeted(hello), .resume]
        }
        return self.isDialled ? [.greeted(hello), .open] : [.greeted(hello)]
    }

    /// What whoever dialled says first of his frontier.
    package mutating func open(in transaction: inout some StoreTransaction) throws(StoreError) -> Message {
        let frontier = try Frontier(of: &transaction, within: self.scope)
        return .ranges(self.comparison.opening(frontier, self.cryptography))
    }

    private mutating func compare(
        _ claims: [FrontierRange],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [Action] {
        self.rangesCount += 1
        guard self.rangesCount <= TransferLimits.rangesCountMax else { return self.violation("too many comparisons") }
        let mine = try Frontier(of: &transaction, within: self.scope)
        let outcome = self.comparison.answer(claims, mine, self.cryptography)
        guard self.comparison.unlearned.count <= TransferLimits.openSpanCountMax else {
            return self.violation("a comparison in too many pieces")
        }
        let actions: [Action] = outcome.reply.isEmpty ? [] : [.send(.ranges(outcome.reply))]
        for entry in outcome.lessons.flatMap(\.entries) { _ = try self.note(entry, in: &transaction) }
        guard self.comparison.isComplete else { return actions }
        self.phase = .streaming
        return actions + [.resume]
    }

    // MARK: - What is stored

    /// Bytes of a run have come, which is to be stored.
    package mutating func received(byteCount: Int) { self.uncreditedByteCount += byteCount }

    /// What the peer sent is stored: up to these changes, now or before.
    package mutating func stored(
        _ places: [SegmentPoint],
        sawDuplicate: Bool,
        in transaction: inout some StoreTransaction
    ) -> [Action] {
        for place in places { self.noteHeld(place, in: &transaction) }
        var actions: [Action] = []
        let byteCount = self.uncreditedByteCount
        self.uncreditedByteCount = 0
        if byteCount > 0 { actions.append(.send(.credit(UInt64(byteCount)))) }
        // As long as something is lacking, the peer may have to push what it does not announce any more.
        if sawDuplicate, !self.awaitsGiven, !self.askedForLazy, self.peerIsCaughtUp, self.chains.isEmpty {
            self.askedForLazy = true
            actions.append(.send(.eagerness(false)))
        }
        return actions
    }

    private mutating func peerStored(
        _ entries: [FrontierEntry],
        at now: UInt64,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [Action] {
        var (isLacking, mayResume) = (false, false)
        for entry in entries {
            if try !self.note(entry, in: &transaction) { isLacking = true }
            if self.chains[entry.replica] != nil {
                mayResume = true
                try self.noteAnswer(entry, in: &transaction)
            }
        }
        if isLacking, self.graftDeadline == nil { self.graftDeadline = now + TransferLimits.graftDelay }
        return mayResume ? [.resume] : []
    }

    /// Time has passed: asks for what was announced and has not come.
    package mutating func graft(at now: UInt64) -> Message? {
        guard let deadline = self.graftDeadline, deadline <= now else { return nil }
        self.graftDeadline = nil
        guard !self.chains.isEmpty else { return nil }
        self.askedForLazy = false
        return .eagerness(true)
    }

    private mutating func answer(
        _ probe: ChainProbe,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> [Action] {
        self.probeCount += 1
        guard self.probeCount <= TransferLimits.probeCountMax else { return self.violation("too many probes") }
        for point in probe.points.reversed() {
            let place = try transaction.place(of: probe.replica, sequence: point.sequence, hash: point.hash)
            guard let place, self.isShared(place.segment, transaction) else { continue }
            self.noteHeld(place, in: &transaction)
            let entry = FrontierEntry(replica: probe.replica, sequence: point.sequence, hash: point.hash)
            return [.send(.stored([entry])), .resume]
        }
        return [.send(.stored([FrontierEntry(replica: probe.replica, sequence: 0, hash: .zero)]))]
    }

    // MARK: - Content that was dropped and is needed

    /// Whether all is here that the peer has, and all there that we have, as far as is known; and it can be asked for
    /// what was dropped of that.
    package var isSettled: Bool {
        self.phase == .streaming && self.peerIsCaughtUp && self.saidCaughtUp && self.chains.isEmpty
    }

    /// Asks for the content of changes; one answer at a time is awaited.
    package mutating func want(_ contents: [WantedContent]) -> Message {
        self.awaitsGiven = true
        return .wanted(contents.sorted { $0.change < $1.change })
    }

    /// Sends contents that have come since to a peer that may have asked for them in vain.
    ///
    /// - Returns: false if too many wait for the peer: then what is given up here is only asked for in another session.
    package mutating func give(_ contents: [GivenContent]) -> Bool {
        guard self.hasAskedInVain else { return true }
        for content in contents {
            if let last = self.given.indices.last, self.given[last].change == content.change {
                self.given[last].places.formUnion(content.places)
            } else if self.given.count < TransferLimits.givenChangeCountMax {
                self.given.append(content)
            } else {
                return false
            }
        }
        return true
    }

    // MARK: - Measures

    /// Changes that the peer is not known to hold durably, and changes that it holds and we do not.
    ///
    /// Nil while not known.
    package func missingCounts(
        in transaction: inout some StoreTransaction
    ) -> (there: UInt64, here: UInt64)? {
        guard self.phase == .streaming else { return nil }
        var (there, here) = (UInt64(0), UInt64(0))
        for segment in transaction.segmentIndices {
            let progress = transaction.progress(of: segment)
            guard self.scope.contains(progress.circle) else { continue }
            let held = max(self.held[segment], self.recalled[segment], progress.firstSequence - 1)
            if progress.storedSequence > held { there += progress.storedSequence - held }
        }
        for (id, chain) in self.chains {
            var longest: UInt64 = 0
            for segment in transaction.segments(of: id) {
                longest = max(longest, transaction.progress(of: segment).storedSequence)
            }
            // Of a fork no longer than ours no more is known.
            here += chain.unknown.map { $0.sequence > longest ? $0.sequence - longest : 1 }.max() ?? 0
        }
        return (there, here)
    }

    /// How far the peer has stored our segments, as far as it has said in this session.
    package var storedByPeer: SeenSegments { self.held }

    /// Changes of which content waits to be sent once more.
    package var givenChangeCount: Int { self.given.count }

    /// Whether the peer is owed content, or is to hear that all was sent.
    package var owesContent: Bool { self.owesGiven || !self.given.isEmpty }

    /// Parts of the comparison that are still open.
    package var openSpanCount: Int { self.comparison.unlearned.count }
}

/// Writes of a change that is stored here, whose content a peer wants.
package struct GivenContent: Hashable, Sendable {
    package var change: SegmentPoint
    package var places: OperationRanges

    package init(change: SegmentPoint, places: OperationRanges) { (self.change, self.places) = (change, places) }
}
