package import CRDTCore

extension NaiveHistory {
    /// The same changes, and in the place of each edit without right one that no state shows.
    ///
    /// Of a part of a history its own verdicts are asked for: they are those of everything that is stored.
    package func permitted() -> NaiveHistory {
        let rights = self.rights
        return self.mappingEdits { number, edits in
            edits.map { edit in
                switch edit {
                case .set(_, let name, _), .unset(_, let name):
                    rights.counts(number, writing: name) ? edit : .undo(NaiveHistory.nothing)
                case .create, .move, .delete, .erase:
                    rights.counts(number, as: .writer) ? edit : .undo(NaiveHistory.nothing)
                default: edit
                }
            }
        }
    }

    /// Whether a user has given up by himself what he was granted, and nobody has granted him anything since.
    package func hasLeft(_ user: UserID) -> Bool { self.rights.hasLeft(user) }

    /// Who may do what by all that is stored.
    private var rights: NaiveRights {
        var devices: [DeviceID: NaiveRights.Device] = [:]
        var changes: [NaiveRights.Change] = []
        for (number, change) in self.changes.enumerated() {
            let introduction = self.introduction(of: number)
            let line = introduction?.certificates ?? []
            let device = line.first?.device ?? DeviceID(bytes: .zero)
            let author = introduction.map { introduction in
                NaiveRights.Device(
                    user: introduction.user,
                    issuers: line.dropFirst().map(\.device),
                    generation: Int(line.first?.generation ?? DeviceCertificate.firstGeneration)
                )
            }
            if let author, devices[device].map({ $0.generation <= author.generation }) ?? true {
                devices[device] = author
            }
            changes.append(
                NaiveRights.Change(
                    by: device,
                    after: change.previous.flatMap { self.number(of: $0) },
                    change.edits.compactMap { self.statement($0) },
                    under: self.places(introduction?.grants ?? []),
                    as: author
                )
            )
        }
        return NaiveRights(owner: self.founder, devices: devices, changes: changes)
    }

    private func statement(_ edit: Edit) -> NaiveRights.Statement? {
        guard case .rights(let statement) = edit else { return nil }
        func heads(_ changes: [NamedChange]) -> Set<Int> { Set(changes.compactMap { self.number(of: $0.hash) }) }
        switch statement {
        case .grants(let grant):
            return .grant(
                grant.user,
                NaiveRights.Role(rawValue: Int(grant.role.rawValue)) ?? .reader,
                names: grant.names.map { Set($0) },
                despite: self.places(grant.despite)
            )
        case .removes(let removal):
            let roles = removal.roles.compactMap { NaiveRights.Role(rawValue: Int($0.rawValue)) }
            return .removal(removal.user, Set(roles), heads: heads(removal.heads))
        case .removesDevice(let removal):
            return .deviceRemoval(removal.device, keep: Set(removal.keep), heads: heads(removal.heads))
        case .membershipKey: return nil
        }
    }

    /// The statements that are here, by their places among those of their changes.
    private func places(_ ids: [StatementID]) -> Set<NaiveRights.StatementPlace> {
        var places: Set<NaiveRights.StatementPlace> = []
        for id in ids {
            guard let number = self.number(of: id.change.hash) else { continue }
            let edits = self.changes[number].edits
            guard Int(id.index) < edits.count, self.statement(edits[Int(id.index)]) != nil else { continue }
            let index = edits[..<Int(id.index)].count { self.statement($0) != nil }
            places.insert(NaiveRights.StatementPlace(number, index))
        }
        return places
    }
}
