package import CRDTCore
internal import PeerCrypto

/// What removing a device did.
package struct DeviceRemovalReport: Hashable, Sendable {
    /// The device, and those that it has vouched for and that go with it.
    package var removed: Set<DeviceID> = []
    /// Changes of theirs that are here and count no more.
    package var cutChangeCount: UInt64 = 0
    /// The names of devices that they had removed, which stay so.
    package var stillRemoved: [String] = []
}

/// Devices that are lost or stolen.
extension LocalTransaction {
    /// Takes all rights from a device, and from those that it has vouched for but for some: in all circles where this
    /// user writes, and in the roster, so that the sessions of others with it end, too.
    ///
    /// What is here of their changes stays; with a time, only what their chains say to be from before it. A fork that
    /// came after its chain may lie about that, and is cut off where it begins. What they have written since they
    /// removed a device that is kept is cut off, too, so that it is back.
    ///
    /// `keep`: devices that it has vouched for, and that stay with those that they have vouched for. `takesOthers`:
    /// whether the rest of these go with it.
    /// - Throws: `WriteRefusal` if the device is this one, stands above it, is removed already, or is that of somebody
    ///   else whom this user has not let into a workspace of his, if one that is to
    ///   stay does not stand below it, or if others would go that are not to.
    package mutating func remove(
        device: DeviceID,
        keeping keep: Set<DeviceID> = [],
        takingOthers takesOthers: Bool = false,
        since time: WallTime? = nil
    ) throws(WriteRefusal) -> DeviceRemovalReport {
        try self.planning { local throws(WriteRefusal) in
            guard let own = local.author, device != local.device else { throw .isThisDevice }
            let authors = local.authors()
            // One that is not in the log yet has written nothing; whoever has let it in stands above it.
            let target = authors[device]
            let user = target?.user ?? own.user
            guard user == own.user || own.user == local.founder else { throw .notPermitted(.owner, nil) }
            if let target, user == own.user, !own.standsAbove(target) { throw .standsAbove(local.name(of: device)) }
            if let target, time == nil, local.isRemoved(target) { throw .isRemoved(local.name(of: device)) }
            for kept in keep {
                guard keep.count <= Limits.keptDeviceCountMax,
                    authors[kept]?.line.dropFirst().contains(device) ?? false
                else { throw .notBelow(local.name(of: kept), local.name(of: device)) }
            }
            let hit = Set(authors.filter { $0.value.user == user && $0.value.goes(with: device, keeping: keep) }.keys)
                .union([device])
            if hit.contains(local.device) { throw .isThisDevice }
            if !takesOthers, hit.count > 1 {
                throw .takesOthers(hit.subtracting([device]).map { local.name(of: $0) }.sorted())
            }
            var report = DeviceRemovalReport(removed: hit)
            var circles = local.circles(of: own, with: hit, of: user)
            // Where nobody has ever been let in the roster is new.
            if user == own.user || own.user == local.founder { circles = [.roster] + circles.filter { $0 != .roster } }
            var stillRemoved: Set<DeviceID> = []
            for circle in circles {
                var remainder = Remainder(of: device, user, keeping: keep, lost: hit, until: time)
                let heads = try WriteRefusal.from { () throws(StoreError) -> [NamedChange] in
                    let removals = local.store.deviceRemovals(in: circle).filter { hit.contains($0.author.line[0]) }
                    for removal in removals {
                        let others = authors.values.filter { $0.goes(with: removal.device, keeping: removal.keep) }
                        if others.contains(where: { keep.contains($0.line[0]) }) {
                            remainder.end(before: removal.place.change)
                        } else if !hit.contains(removal.device),
                            authors[removal.device].map({ removal.author.standsAbove($0) }) ?? false
                        {
                            stillRemoved.insert(removal.device)
                        }
                    }
                    return try local.store.heads(in: circle, of: &remainder)
                }
                let removal = RightsStatement.DeviceRemoval(of: device, keep: keep.sorted(), heads: heads)
                let edit = Edit.rights(.removesDevice(removal))
                // What there is no room for is said again right after this (`Node+Removals`): who is to be removed may
                // have opened any number of chains, in any number of circles.
                if time == nil, circle != .roster, !local.plan.hasRoom(for: edit, before: 0) { continue }
                report.cutChangeCount += remainder.cutChangeCount
                try local.plan.append(edit, in: circle)
                if circle == .roster { try local.replaceMembershipKey() }
            }
            report.stillRemoved = stillRemoved.map { local.name(of: $0) }.sorted()
            return report
        }
    }

    /// Gives those who stay another key to know each other by than those have who go.
    mutating func replaceMembershipKey() throws(WriteRefusal) {
        let roster = self.store.circles.index(of: .roster).flatMap { self.store.rights.rights(in: $0) }
        guard let key = Bytes32(self.entropy.bytes(Bytes32.byteCount)) else {
            preconditionFailure("32 bytes were drawn")
        }
        let number = (roster?.membershipKeyNumber ?? 0) + 1
        try self.plan.append(.rights(.membershipKey(.init(number: number, key: key))), in: .roster)
    }

    /// Who writes each device's chains, by its certificates of the highest generation.
    private func authors() -> [DeviceID: ChainAuthor] {
        var authors = self.store.authors
        // It may have been certified anew, and not have written since.
        if let author = self.author { authors[self.device] = author }
        return authors
    }

    /// Whether the roster has a device removed already.
    private func isRemoved(_ author: ChainAuthor) -> Bool {
        let rights = self.store.circles.index(of: .roster).flatMap { self.store.rights.rights(in: $0) }
        return rights?.isRemoved(author) ?? false
    }

    /// What a device is called, as far as that is known.
    private func name(of device: DeviceID) -> String {
        var name: String?
        for segment in self.store.segmentIndices {
            guard let introduction = self.store.segment(segment).introduction, introduction.device == device else {
                continue
            }
            name = introduction.deviceName
        }
        return name ?? String(device.description.prefix(8))
    }

    /// The circles where a removal by this user may turn something: his own, and those of others where devices of his
    /// may write.
    private func circles(
        of own: ChainAuthor,
        with devices: Set<DeviceID>,
        of user: UserID
    ) -> [Circle] {
        var written: Set<CircleIndex> = []
        for segment in self.store.segmentIndices {
            if let device = self.store.segment(segment).introduction?.device, devices.contains(device) {
                written.insert(self.store.progress(of: segment).circle)
            }
        }
        return (0..<UInt32(self.store.circles.count)).map { CircleIndex(rawValue: $0) }.filter { index in
            let rights = self.store.rights.rights(in: index)
            if self.store.circles[index].owner(founder: self.founder) == own.user {
                return user == own.user || written.contains(index) || rights?.hasGranted(user) ?? false
            }
            return user == own.user && !(rights?.standingGrants(to: own).isEmpty ?? true)
        }
        .map { self.store.circles[$0] }
    }
}
