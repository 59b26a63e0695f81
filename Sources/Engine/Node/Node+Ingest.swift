internal import CRDTCore
internal import PeerCrypto
internal import SyncProtocol

/// Taking in changes from peers: verified, stored and merged in one transaction, then acknowledged.
extension Node where Store: ~Copyable {
    mutating func ingest(_ runs: [Run], from connection: PeerConnection) {
        do throws(StoreError) {
            let intake = try self.replica.takeIn(runs, from: connection.session.scope)
            self.storeFailure = nil
            connection.traffic.pulledChangeCount += intake.summary.storedChangeCount
            connection.traffic.pulledOperationCount += intake.summary.storedOperationCount
            connection.traffic.duplicateChangeCount += intake.duplicateChangeCount
            try self.afterIngest(intake, from: connection)
        } catch {
            // Nothing was kept, and the frontier does not claim it: the peer sends it again another time.
            self.note(error)
            self.drop(connection)
        }
    }

    /// `connection`: over which it came; nil if it was carried by somebody who cannot read it.
    mutating func afterIngest(_ intake: Intake, from connection: PeerConnection?) throws(StoreError) {
        if intake.hasIntroductions {
            try self.refreshBook()
            self.introduceInRoster()
        }
        self.repeatRemovals()
        if intake.summary.storedChangeCount > 0 || intake.summary.isRevised {
            try self.refreshWaits()
            self.parcels.noteChange(at: self.now.monotonicMilliseconds)
        }
        for fork in intake.forks {
            self.effects.append(.notice(.forked(device: fork.deviceName, sequence: fork.sequence)))
        }
        let others = self.readyConnections
        let judge = self.identity.standpoint
        var overfull: [PeerConnection] = []
        let (actions, news) = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
            let entries = try intake.places.map { place throws(StoreError) in
                FrontierEntry(
                    replica: transaction.replicaID(place.segment),
                    sequence: place.sequence,
                    hash: try transaction.hash(at: place) ?? .zero
                )
            }
            let circles = intake.places.map { transaction.progress(of: $0.segment).circle }
            // What came may say that somebody reads it, or not any more.
            for other in others { _ = other.refreshScope(for: judge, in: transaction) }
            let isDuplicate = intake.duplicateChangeCount > 0 && intake.summary.repairedChanges.isEmpty
            let actions =
                connection?.session.stored(intake.places, sawDuplicate: isDuplicate, in: &transaction) ?? []
            let replicas = Set(entries.map(\.replica))
            for other in others { try other.session.logGrew(replicas, in: &transaction) }
            // Whoever asked before may have got nothing.
            let contents = intake.summary.repairedChanges.map {
                GivenContent(change: $0.change, places: OperationRanges($0.places))
            }
            for other in others where other !== connection && !other.session.give(contents) {
                overfull.append(other)
            }
            return (actions, Array(zip(circles, entries)))
        }
        for other in others {
            // Whoever sent it knows of it, and hears that it is stored.
            let told = news.filter { other === connection || other.session.scope.contains($0.0) }.map(\.1).sorted()
            if !told.isEmpty { self.send(.stored(told), on: other) }
        }
        if let connection {
            if !self.state.ended.isEmpty { self.noteEnded(by: connection) }
            try self.answer(intake.refusal, with: actions, on: connection)
        }
        // It asks again in another session, for what it lacks then.
        for other in overfull { self.drop(other) }
        self.pumpAll()
    }

    private mutating func answer(
        _ refusal: RunRefusal?,
        with actions: [SyncSession.Action],
        on connection: PeerConnection
    ) throws(StoreError) {
        switch refusal {
        case nil:
            try self.perform(actions, on: connection)
        case .disputed:
            // Where the two chains part is found when the frontiers are compared again.
            self.counters.disputedRunCount += 1
            self.drop(connection)
        case .violation(let reason): self.violation(connection, reason)
        }
    }
}
