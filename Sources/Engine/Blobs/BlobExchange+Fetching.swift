internal import CRDTCore
internal import SyncProtocol

/// Asking for leaves, and taking them in.
extension BlobExchange {
    mutating func fillAll() {
        for connection in self.sources.keys.sorted() { self.fill(connection) }
    }

    /// Asks a peer for as much as it may be asked for ahead.
    mutating func fill(_ connection: ConnectionID) {
        guard self.retry == nil else { return }
        while let source = self.sources[connection], source.room > 0, let want = self.nextWant(source, connection) {
            self.ask(want, of: connection)
        }
    }

    /// What a peer is to be asked for next; opens groups on its way.
    private mutating func nextWant(_ source: BlobSource, _ connection: ConnectionID) -> BlobWant? {
        for root in self.order {
            guard let fetch = self.fetches[root], !fetch.isComplete, !source.lacksAll.contains(root) else { continue }
            for group in fetch.orderedGroups {
                if let want = self.want(of: fetch, group, source, connection) { return want }
            }
            if let group = fetch.nextGroup {
                self.fetches[root]?.looking.insert(group)
                self.actions.append(.perform(.look(root, fetch.shape, group: group)))
            }
        }
        return source.openByteCount == 0 ? self.repeatedWant(source) : nil
    }

    private func want(
        of fetch: BlobFetch,
        _ number: Int,
        _ source: BlobSource,
        _ connection: ConnectionID
    ) -> BlobWant? {
        guard let group = fetch.groups[number] else { return nil }
        // What comes without a proof could not be checked; the proof comes first on the way that it is asked for.
        if case .asked(let other) = group.proof, other != connection { return nil }
        let candidates = group.free & source.mayHave(fetch.root, number)
        guard candidates != 0 else { return nil }
        let urgent = candidates & fetch.urgentLeaves(of: number)
        let rare = candidates & ~self.othersMayHave(fetch.root, number, but: connection)
        let chosen = urgent != 0 ? urgent : rare != 0 ? rare : candidates
        return BlobWant(
            number: source.nextNumber,
            root: fetch.root,
            group: number,
            leaves: chosen.lowest(source.room),
            wantsProof: group.proof == .missing
        )
    }

    /// The leaves of a group that another peer may have, too.
    private func othersMayHave(_ root: BlobRoot, _ group: Int, but connection: ConnectionID) -> UInt64 {
        self.sources.reduce(0) { $1.key == connection ? $0 : $0 | $1.value.mayHave(root, group) }
    }

    /// The last leaves of a blob, which one other peer was asked for.
    private func repeatedWant(_ source: BlobSource) -> BlobWant? {
        for root in self.order {
            guard let fetch = self.fetches[root], !fetch.isComplete, fetch.nextGroup == nil, fetch.looking.isEmpty
            else { continue }
            let open = fetch.groups.filter { $0.value.proof == .here }
            guard fetch.groups.values.allSatisfy({ $0.free == 0 }),
                fetch.groups.values.reduce(0, { $0 + $1.missing.nonzeroBitCount })
                    <= BlobExchangeLimits.repeatedLeafCountMax
            else { continue }
            for (number, group) in open.sorted(by: { $0.key < $1.key }) {
                let askedOnce = self.askedOnce(root, number)
                let leaves = group.missing & askedOnce & source.mayHave(root, number) & ~source.asked(root, number)
                guard leaves != 0 else { continue }
                return BlobWant(
                    number: source.nextNumber,
                    root: root,
                    group: number,
                    leaves: leaves.lowest(source.room),
                    wantsProof: false
                )
            }
        }
        return nil
    }

    /// The leaves of a group that exactly one peer was asked for and has not sent.
    private func askedOnce(_ root: BlobRoot, _ group: Int) -> UInt64 {
        var (once, twice) = (UInt64(0), UInt64(0))
        for source in self.sources.values {
            for want in source.wants.values where want.root == root && want.group == group {
                twice |= once & want.open
                once |= want.open
            }
        }
        return once & ~twice
    }

    private mutating func ask(_ want: BlobWant, of connection: ConnectionID) {
        guard var source = self.sources[connection], let fetch = self.fetches[want.root] else { return }
        if source.openByteCount == 0 { source.lastProgress = self.now }
        source.wants[want.number] = BlobSource.Want(
            root: want.root,
            shape: fetch.shape,
            group: want.group,
            asked: want.leaves,
            open: want.leaves,
            awaitsProof: want.wantsProof
        )
        source.nextNumber &+= 1
        source.openByteCount += fetch.shape.byteCount(of: want.leaves, group: want.group)
        self.sources[connection] = source
        self.fetches[want.root]?.groups[want.group]?.free &= ~want.leaves
        if want.wantsProof { self.fetches[want.root]?.groups[want.group]?.proof = .asked(connection) }
        self.actions.append(.send(connection, .want(want)))
    }

    // MARK: - Answers

    mutating func take(_ proof: GroupProof, _ number: UInt32, from connection: ConnectionID) {
        guard let want = self.openWant(number, of: connection) else { return }
        guard want.awaitsProof else { return self.violation(connection, "a proof that was not asked for") }
        self.sources[connection]?.wants[number]?.awaitsProof = false
        self.actions.append(
            .perform(.takeProof(want.root, want.shape, group: want.group, proof, from: connection))
        )
    }

    mutating func take(_ piece: BlobPiece, from connection: ConnectionID) {
        guard var want = self.openWant(piece.want, of: connection) else { return }
        let bit = UInt64(1) << UInt64(piece.leaf)
        guard want.asked & bit != 0, !want.awaitsProof else {
            return self.violation(connection, "a piece that was not asked for")
        }
        // Another peer was faster.
        guard want.open & bit != 0 else { return }
        guard want.bytes.isEmpty || want.leaf == piece.leaf else {
            return self.violation(connection, "a piece of a leaf before the end of another one")
        }
        let leaf = (want.group << BlobShape.groupLevel) + Int(piece.leaf)
        let left = want.shape.byteCount(leaf: leaf) - want.bytes.count
        guard piece.bytes.count == min(left, BlobPiece.byteCountMax) else {
            return self.violation(connection, "a piece of another length")
        }
        want.leaf = piece.leaf
        want.bytes += piece.bytes
        self.sources[connection]?.noteCame(piece.bytes.count, at: self.now)
        if piece.bytes.count == left {
            self.actions.append(
                .perform(.takeLeaf(want.root, want.shape, leaf: leaf, want.bytes, from: connection))
            )
            want.open &= ~bit
            want.written |= bit
            want.bytes = []
        }
        self.sources[connection]?.wants[piece.want] = want
    }

    mutating func note(_ lack: BlobLack, _ leaves: UInt64, _ number: UInt32, from connection: ConnectionID) {
        guard let want = self.openWant(number, of: connection) else { return }
        let lacking: UInt64
        switch lack {
        case .notHere, .notShared, .unreadable:
            self.sources[connection]?.lacksAll.insert(want.root)
            lacking = want.open
        case .notYet:
            lacking = want.open & leaves
            self.sources[connection]?.lacks[want.root, default: [:]][want.group, default: 0] |= lacking
        }
        self.sources[connection]?.lastProgress = self.now
        self.drop(lacking, of: number, at: connection)
        self.fillAll()
    }

    /// A question that was asked; one that was answered or taken back is nothing, and one that never was asked a
    /// violation.
    private mutating func openWant(_ number: UInt32, of connection: ConnectionID) -> BlobSource.Want? {
        guard let source = self.sources[connection] else { return nil }
        if let want = source.wants[number] { return want }
        if number &- source.nextNumber < UInt32.max / 2 { self.violation(connection, "an answer to no question") }
        return nil
    }

    private mutating func violation(_ connection: ConnectionID, _ reason: String) {
        self.actions.append(.violation(connection, reason))
    }

    // MARK: - What the disk has done

    mutating func tookLeaf(_ leaf: Int, of root: BlobRoot, from connection: ConnectionID) {
        let group = leaf >> BlobShape.groupLevel
        let bit = UInt64(1) << UInt64(leaf & (BlobShape.groupLeafCount - 1))
        self.fetches[root]?.groups[group]?.missing &= ~bit
        self.fetches[root]?.groups[group]?.free &= ~bit
        self.fetches[root]?.hasTaken = true
        for other in self.sources.keys.sorted() {
            for (number, want) in self.sources[other]?.wants ?? [:] where want.root == root && want.group == group {
                guard (want.open | want.written) & bit != 0 else { continue }
                // Whoever was asked for it as well need not send it any more.
                if want.open == bit { self.actions.append(.send(other, .cancel(number))) }
                self.drop(bit, of: number, at: other)
            }
        }
        if self.fetches[root]?.groups[group]?.missing == 0 { self.fetches[root]?.end(group) }
        self.retryWait = BlobExchangeLimits.retryWaitFirst
        self.finishIfWhole(root)
        self.fillAll()
    }

    mutating func finishIfWhole(_ root: BlobRoot) {
        guard let fetch = self.fetches[root], fetch.isComplete, !self.complete.contains(root) else { return }
        self.complete.append(root)
        self.completeNext()
    }

    /// Waits for the disk once for all that came while it was waited for the last time.
    mutating func completeNext() {
        guard !self.isCompleting, !self.complete.isEmpty, self.retry == nil else { return }
        self.isCompleting = true
        let roots = Array(self.complete.prefix(BlobExchangeLimits.completeCountMax))
        self.actions.append(.perform(.complete(roots)))
    }

    mutating func completed(_ roots: [BlobRoot]) {
        self.isCompleting = false
        let done = Set(roots)
        self.complete.removeAll { done.contains($0) }
        self.order.removeAll { done.contains($0) }
        for root in roots { self.fetches[root] = nil }
        self.actions.append(.arrived(roots))
        for root in roots { self.tellHopeful(root) }
        self.completeNext()
    }

    mutating func failed(_ command: BlobCommand, _ failure: BlobFailure) {
        switch command {
        case .takeProof(let root, _, let group, _, let connection):
            if self.fetches[root]?.groups[group]?.proof == .asked(connection) {
                self.fetches[root]?.groups[group]?.proof = .missing
            }
            if failure == .wrong { return self.blame(connection, root) }
            self.cancel(root, of: connection)
        case .takeLeaf(let root, _, _, _, let connection):
            // A leaf whose proof was wrong is no other fault.
            if failure == .wrong || failure == .absent { return self.blame(connection, root) }
            self.cancel(root, of: connection)
        case .look(let root, _, let group): self.fetches[root]?.looking.remove(group)
        case .complete: self.isCompleting = false
        case .readProof(_, _, _, let receiver), .readLeaf(_, _, _, let receiver):
            return self.readFailed(failure, for: receiver)
        case .pause: return
        }
        // The disk is at fault: everything waits for it.
        if self.retry == nil { self.actions.append(.stopped(failure)) }
        self.retry = self.now + self.retryWait
        self.retryWait = min(2 * self.retryWait, BlobExchangeLimits.retryWaitMax)
    }

    /// A peer sends what is wrong: it is asked for nothing more of this blob.
    private mutating func blame(_ connection: ConnectionID, _ root: BlobRoot) {
        guard let source = self.sources[connection] else { return }
        if !source.lacksAll.contains(root) { self.actions.append(.blame(connection, root)) }
        self.sources[connection]?.lacksAll.insert(root)
        self.cancel(root, of: connection)
        self.fillAll()
    }

    mutating func stalled(_ connection: ConnectionID) {
        self.sources[connection]?.isStalled = true
        for root in Set(self.sources[connection]?.wants.values.map(\.root) ?? []).sorted() {
            self.cancel(root, of: connection)
        }
        // Whoever is alone is asked again, for less.
        for other in self.sources.keys.sorted() where other != connection { self.fill(other) }
        self.fill(connection)
    }

    // MARK: - Taking back

    /// Takes back all that a peer was asked for of a blob.
    mutating func cancel(_ root: BlobRoot, of connection: ConnectionID) {
        for (number, want) in self.sources[connection]?.wants ?? [:] where want.root == root {
            if want.open != 0 { self.actions.append(.send(connection, .cancel(number))) }
            self.drop(want.open | want.written, of: number, at: connection)
        }
    }

    /// Strikes leaves from a question; what nobody else was asked for is free.
    private mutating func drop(_ leaves: UInt64, of number: UInt32, at connection: ConnectionID) {
        guard let want = self.sources[connection]?.wants[number] else { return }
        var rest = want
        rest.open &= ~leaves
        rest.written &= ~leaves
        if leaves >> UInt64(rest.leaf) & 1 == 1 { rest.bytes = [] }
        let isOver = rest.open | rest.written == 0
        self.sources[connection]?.wants[number] = isOver ? nil : rest
        var dropped = want
        dropped.open &= leaves
        dropped.written &= leaves
        dropped.awaitsProof = want.awaitsProof && isOver
        self.release(dropped, of: connection)
    }

    /// Frees what a question asked for that is over.
    mutating func release(_ want: BlobSource.Want, of connection: ConnectionID) {
        let leaves = want.open | want.written
        self.sources[connection]?.openByteCount -= want.shape.byteCount(of: leaves, group: want.group)
        var free = leaves
        for (other, source) in self.sources where other != connection { free &= ~source.asked(want.root, want.group) }
        self.fetches[want.root]?.release(free, of: want.group)
        if want.awaitsProof, self.fetches[want.root]?.groups[want.group]?.proof == .asked(connection) {
            self.fetches[want.root]?.groups[want.group]?.proof = .missing
        }
    }
}
