package import CRDTCore
internal import SyncProtocol

/// What a node tells of itself.
extension Node where Store: ~Copyable {
    /// The state of the node at this moment.
    ///
    /// - Complexity: O(*n* (*c* + *w*)) for *n* segments, *c* connections and *w* waiting segments.
    package mutating func status(at now: ClockReading) throws(StoreError) -> NodeStatus {
        var merge = Merge(now: now.wall, founder: self.replica.author.membership.founder)
        let activeSegment = self.state.activeSegment
        let sessions = self.readyConnections
        let view = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) -> StatusView in
            var view = try StatusView(of: &transaction, &merge)
            view.active = activeSegment.map { transaction.replicaID($0) }
            for connection in sessions {
                view.missing[connection.id] = connection.session.missingCounts(in: &transaction)
            }
            return view
        }
        var traffic = self.pastTraffic
        for connection in self.connections.values { traffic.add(connection.traffic) }
        return NodeStatus(
            workspace: self.replica.author.membership.workspace,
            device: self.identity.device,
            deviceName: self.identity.name,
            user: self.identity.user,
            replica: view.active,
            frontier: view.frontier.entries,
            peers: self.book.sortedKeys.compactMap { self.peerStatus($0, view, at: now) },
            failingAddresses: self.failingAddresses,
            isDialling: self.isDialling,
            waits: view.waits,
            forks: view.forks,
            clockSetBackFrom: self.clock.wasSetBack(at: now) ? self.clock.latestShown : nil,
            isClockConfirmed: self.isClockConfirmed,
            storeFailure: self.storeFailure,
            waitingErasures: view.waitingErasures,
            removal: self.state.removal,
            traffic: traffic,
            counters: self.counters
        )
    }

    /// The addresses that lead to no machine; one of a machine that is known and away is no further one.
    private var failingAddresses: [AddressStatus] {
        let known = Set(self.book.entries.values.lazy.filter(\.isWanted).flatMap(\.addresses))
        return self.book.unknownAddresses.compactMap { address, unknown in
            guard let failure = unknown.failure, failure != .unreachable || !known.contains(address) else { return nil }
            return AddressStatus(address: address, failure: failure)
        }
        .sorted { ($0.address.host, $0.address.port) < ($1.address.host, $1.address.port) }
    }

    private func peerStatus(_ key: PeerKeys, _ view: StatusView, at now: ClockReading) -> PeerStatus? {
        guard let entry = self.book[key] else { return nil }
        // Several if copies of the device run: what one of them lacks, the device lacks.
        let sessions = self.readyConnections.filter { $0.keys == entry.keys }
        guard !sessions.isEmpty || entry.isWanted else { return nil }
        let latest = sessions.max { ($0.readySince ?? 0) < ($1.readySince ?? 0) }
        let missing = sessions.compactMap { view.missing[$0.id] }
        let isCompared = !sessions.isEmpty && missing.count == sessions.count
        let hasAnswered = !sessions.isEmpty && sessions.allSatisfy { $0.awaitedPongCount == 0 }
        let isHeldThere = sessions.contains { session in
            session.clock.map { HybridClock.isHeld(view.latestStamp, at: $0.time(at: now)) } ?? false
        }
        // What is asked for of changes that both hold is one more that is missing.
        let isOwed: UInt64 = sessions.contains(where: \.session.owesContent) ? 1 : 0
        let (misses, age) = (self.state.missesContent, self.state.contentAge)
        let isAwaited: UInt64 = sessions.contains { misses && $0.isToBeCompleted(for: age) } ? 1 : 0
        var traffic = Traffic()
        for session in sessions { traffic.add(session.traffic) }
        // The port from which it has dialled leads nowhere.
        let reached = latest.flatMap { $0.isDialled ? $0.address : nil }
        return PeerStatus(
            device: entry.device,
            name: entry.shownName,
            user: entry.author.user,
            certifiers: Array(entry.certifiers),
            isRemovable: self.replica.author.author?.removes(entry.author, founder: self.identity.founder) ?? false,
            isConnected: latest != nil,
            address: reached ?? entry.addresses.first ?? entry.heardAddresses.first,
            lastSeen: entry.lastSeen,
            clockAheadMilliseconds: latest?.clock?.millisecondsAhead(at: now),
            missingThereCount: isCompared ? missing.map { $0.there &+ isOwed }.max() : nil,
            // A peer that was asked and has not answered may have written since it was last heard.
            missingHereCount: hasAnswered && isCompared ? missing.map { $0.here &+ isAwaited }.max() : nil,
            holdsUntil: isHeldThere ? HybridClock.dueTime(of: view.latestStamp) : nil,
            traffic: traffic,
            hasAnswered: hasAnswered,
            hasCopies: entry.hasCopies(at: now.monotonicMilliseconds),
            difference: self.own.differences[key]
        )
    }
}

/// What the store tells for a status.
private struct StatusView {
    var active: ReplicaID?
    var frontier: Frontier
    var forks: [ReplicaFork] = []
    var waits: [ReplicaWait] = []
    var missing: [ConnectionID: (there: UInt64, here: UInt64)] = [:]
    /// The latest stamp of what is in force here.
    var latestStamp = Stamp.zero
    var waitingErasures: [DeviceErasures] = []

    init(of transaction: inout some StoreTransaction, _ merge: inout Merge) throws(StoreError) {
        self.frontier = try Frontier(of: &transaction)
        for segment in transaction.segmentIndices {
            let record = transaction.segment(segment)
            self.latestStamp = max(self.latestStamp, record.appliedStamp)
            let count = record.origin == nil && record.next != nil ? transaction.segments(of: record.id).count : 1
            guard count > 1 else { continue }
            let name = record.introduction?.deviceName ?? ""
            self.forks.append(ReplicaFork(replica: record.id, deviceName: name, forkCount: count))
        }
        for (index, wait) in try merge.waits(in: &transaction) {
            let record = transaction.segment(index)
            self.waits.append(
                ReplicaWait(
                    replica: record.id,
                    deviceName: record.introduction?.deviceName ?? "",
                    sequence: record.appliedSequence + 1,
                    changeCount: record.storedSequence - record.appliedSequence,
                    reason: wait
                )
            )
        }
        self.waitingErasures = try DeviceErasures.all(in: &transaction)
        self.forks.sort { $0.replica < $1.replica }
        self.waits.sort { ($0.replica, $0.sequence) < ($1.replica, $1.sequence) }
    }
}

extension NodeStatus {
    /// What a store tells where no node runs, since nothing can be written.
    package init(
        of identity: borrowing DeviceIdentity,
        in transaction: inout some StoreTransaction,
        at now: WallTime
    ) throws(StoreError) {
        var merge = Merge(now: now, founder: identity.founder)
        let view = try StatusView(of: &transaction, &merge)
        var names: [DeviceID: String] = [:]
        for index in transaction.segmentIndices {
            let segment = transaction.segment(index)
            if let device = segment.device, device != identity.device, let introduction = segment.introduction {
                names[device] = introduction.deviceName
            }
        }
        let (authors, own) = (transaction.authors, ChainAuthor(identity.introduction(nonce: Bytes16(high: 0, low: 0))))
        let founder = identity.founder
        self.init(
            workspace: identity.workspace,
            device: identity.device,
            deviceName: identity.name,
            user: identity.user,
            frontier: view.frontier.entries,
            peers: names.sorted { $0.key < $1.key }.map { device, name in
                let author = authors[device]
                return PeerStatus(
                    device: device,
                    name: name,
                    user: author?.user,
                    certifiers: author.map { Array($0.line.dropFirst()) } ?? [],
                    isRemovable: author.flatMap { own?.removes($0, founder: founder) } ?? false
                )
            },
            waits: view.waits,
            forks: view.forks,
            waitingErasures: view.waitingErasures
        )
    }
}

extension ChainAuthor {
    /// Whether a removal of another device by this one counts, as far as one can say without its circles.
    fileprivate func removes(_ other: ChainAuthor, founder: UserID) -> Bool {
        self.standsAbove(other) || self.user == founder && self.user != other.user
    }
}

extension DeviceErasures {
    /// Those of each device, in the order of their ids.
    fileprivate static func all(in transaction: inout some StoreTransaction) throws(StoreError) -> [DeviceErasures] {
        var found: [DeviceID: DeviceErasures] = [:]
        for waiting in try transaction.waitingErasures() {
            guard let introduction = transaction.segment(waiting.segment).introduction,
                let device = introduction.device
            else { continue }
            let name = introduction.deviceName
            var erasures = found[device] ?? DeviceErasures(device: device, deviceName: name, count: 0, due: nil)
            erasures.count += waiting.count
            if waiting.due < PendingErasure.never { erasures.due = min(erasures.due ?? waiting.due, waiting.due) }
            found[device] = erasures
        }
        return found.values.sorted { $0.device < $1.device }
    }
}
