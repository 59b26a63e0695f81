package import CRDTCore
internal import SyncProtocol

/// What a node tells of itself.
extension Node where Store: ~Copyable {
    /// The state of the node at this moment.
    ///
    /// - Complexity: O(*r* (*c* + *w*)) for *r* replicas, *c* connections and *w* waiting chains.
    package mutating func status(at now: Moment) throws(StoreError) -> NodeStatus {
        let wall = now.wall
        let view = try self.store.read { (transaction: inout Store.Transaction) throws(StoreError) -> StoreView in
            var view = StoreView()
            view.frontier = try Frontier(of: &transaction)
            for position in 0..<transaction.replicaCount {
                view.records.append(transaction.replica(ReplicaIndex(rawValue: UInt32(position))))
            }
            for (index, wait) in try Merge.waits(at: wall, in: &transaction) {
                let record = transaction.replica(index)
                view.waits.append(
                    ReplicaWait(
                        replica: record.id,
                        deviceName: record.introduction?.deviceName ?? "",
                        sequence: record.appliedSequence + 1,
                        changeCount: record.storedSequence - record.appliedSequence,
                        reason: wait
                    )
                )
            }
            return view
        }
        let active = self.author.activeReplica.map { view.records[Int($0.rawValue)].id }
        var counters = self.counters
        counters.reauthoredChangeCount = self.author.reauthoredChangeCount
        var traffic = self.pastTraffic
        for connection in self.connections.values { traffic.add(connection.traffic) }
        return NodeStatus(
            workspace: self.author.membership.workspace,
            device: self.author.identity.device,
            deviceName: self.author.identity.name,
            user: self.author.identity.user,
            replica: active,
            frontier: view.frontier.entries,
            peers: self.book.sortedKeys.compactMap { self.peerStatus($0, view) },
            isDialling: self.connections.values.contains { $0.isDialled && $0.device == nil },
            waits: view.waits.sorted { $0.replica < $1.replica },
            exclusions: view.records.compactMap { record in
                record.exclusion.map {
                    ReplicaExclusion(
                        replica: record.id,
                        deviceName: record.introduction?.deviceName ?? "",
                        exclusion: $0
                    )
                }
            },
            clockAheadMilliseconds: self.clockAheadMilliseconds,
            storeFailure: self.storeFailure,
            traffic: traffic,
            counters: counters
        )
    }

    private struct StoreView {
        var frontier = Frontier()
        var records: [ReplicaRecord] = []
        var waits: [ReplicaWait] = []
    }

    private func peerStatus(_ key: StaticKey, _ view: StoreView) -> PeerStatus? {
        guard let entry = self.book[key] else { return nil }
        let connection = self.readyConnections.first { $0.device == entry.device }
        var status = PeerStatus(
            device: entry.device,
            name: entry.shownName,
            isConnected: connection != nil,
            address: connection?.address ?? entry.addresses.first ?? entry.heardAddresses.first,
            lastSeen: entry.lastSeen,
            missingThereCount: nil,
            missingHereCount: nil,
            traffic: connection?.traffic ?? Traffic()
        )
        guard let connection, connection.conversation.comparison.isComplete else { return status }
        let theirs = connection.conversation.peerSequences
        var missingThere: UInt64 = 0
        var missingHere: UInt64 = 0
        var known: Set<ReplicaID> = []
        for record in view.records {
            known.insert(record.id)
            let held = theirs[record.id] ?? 0
            let ours = record.sendableSequence
            if ours > held { missingThere += ours - held }
            if held > ours, record.forkSequence == nil { missingHere += held - ours }
        }
        for (replica, held) in theirs where !known.contains(replica) { missingHere += held }
        status.missingThereCount = missingThere
        status.missingHereCount = missingHere
        return status
    }
}
