internal import CRDTCore
internal import Foundation
internal import LocalAPI
internal import PeerdKit
internal import PeerdPreview

extension Preview {
    /// All of the answer, for programs.
    var json: JSON {
        var members: [ExactText: JSON] = [
            "verdict": .string(self.verdict.rawValue),
            "devices": .array(self.devices.map(\.json)),
            "orders": self.ordersJSON,
            "link": .object([
                "name": .string(self.link.name),
                "bits_per_second": .int(Int64(clamping: self.link.bytesPerSecond) * 8),
                "latency_ms": .double(self.link.latency / .milliseconds(1)),
            ]),
            "transfers": .array(
                self.transfers.map { transfer in
                    .object([
                        "between": self.namesJSON(of: transfer.devices),
                        "bytes": .array([transfer.byteCountFromFirst, transfer.byteCountFromSecond].map { JSON($0) }),
                        "milliseconds": .int(Int64(transfer.duration / .milliseconds(1))),
                        "ending": .string(transfer.ending.word),
                    ])
                }
            ),
        ]
        guard let outcome = self.outcome else { return .object(members) }
        members["objects"] = JSON(outcome.objectCount)
        members["conflicts"] = .array(outcome.conflicts.map { ConflictJSON.of(ConflictAnswer($0)) })
        members["known_conflicts"] = JSON(outcome.knownConflictCount)
        members["moves_undone"] = .array(outcome.movesUndone.map { ConflictJSON.of(MoveWithoutEffectAnswer($0)) })
        members["revived"] = .array(outcome.revivals.map { self.json(of: $0) })
        members["waiting"] = .array(outcome.waits.map(\.json))
        members["blob_references"] = JSON(outcome.blobReferenceCount)
        members["named_objects"] = .array(outcome.objects.map { JSON(ObjectSummary($0)) })
        return .object(members)
    }

    private var ordersJSON: JSON {
        .object([
            "count": JSON(self.orders.count),
            "syncs": JSON(self.orders.syncCount),
            "sampled": .bool(self.orders.seed != nil),
            "seed": self.orders.seed.map { .string(String($0)) } ?? .null,
            "all_end_the_same": .bool(self.orders.areAllEqual),
            "deviations": .array(
                self.orders.deviations.map { deviation in
                    .object([
                        "order": .array(deviation.order.map { self.namesJSON(of: $0) }),
                        "detail": .string(deviation.detail),
                    ])
                }
            ),
        ])
    }

    private func json(of revival: Revival) -> JSON {
        .object([
            "object": .string(revival.object.description),
            "deleted_on": .array(revival.deletedOn.map { .string(self.name(of: $0)) }),
            "deletion": revival.deletion?.json ?? .null,
            "edit": revival.edit?.json ?? .null,
        ])
    }

    private func namesJSON(of pair: Pair) -> JSON {
        .array([pair.first, pair.second].map { .string(self.name(of: $0)) })
    }

    /// The name of a device as it is; it may hold anything.
    func name(of device: Device.ID) -> String { self.devices.first { $0.id == device }?.name ?? device }
}

extension Preview.Device {
    fileprivate var json: JSON {
        .object([
            "device": .string(self.id),
            "name": .string(self.name),
            "directory": .string(self.directory.path),
            "objects": JSON(self.objectCount),
            "missing": self.missing?.json ?? .null,
        ])
    }
}

extension Preview.Missing {
    fileprivate var json: JSON {
        var writes: [ExactText: JSON] = [:]
        for (name, count) in self.writeCounts { writes[ExactText(name)] = JSON(count) }
        return .object([
            "changes": JSON(self.changeCount),
            "operations": JSON(self.operationCount),
            "objects": JSON(self.objectCount),
            "writes": .object(writes),
            "creations": JSON(self.creationCount),
            "moves": JSON(self.moveCount),
            "deletions": JSON(self.deletionCount),
            "vanishing_objects": JSON(self.vanishingObjectCount),
            "most_changed": .array(
                self.mostChanged.map { changed in
                    .object([
                        "object": .string(changed.object.description),
                        "operations": JSON(changed.operationCount),
                    ])
                }
            ),
        ])
    }
}

extension Preview.Transfer.Ending {
    /// The ending as a word for programs.
    fileprivate var word: String {
        switch self {
        case .equal: "equal"
        case .strangers: "strangers"
        case .unequal(let reason): reason
        }
    }
}

extension Preview.Write {
    fileprivate var json: JSON {
        var members: [ExactText: JSON] = [
            "device": .string(self.author.name),
            "time_ms": .int(self.date.millisecondsSince1970),
        ]
        switch self.action {
        case .create(let type, let kind):
            members["kind"] = .string("create")
            members["object_type"] = .string(type)
            members["object_kind"] = .string(kind)
        case .set(let name, let value):
            members["kind"] = .string("set")
            members["name"] = .string(name)
            members["value"] = value.json
        case .unset(let name):
            members["kind"] = .string("unset")
            members["name"] = .string(name)
        case .move(let parent):
            members["kind"] = .string("move")
            members["parent"] = parent.map { .string($0.description) } ?? .null
        case .delete: members["kind"] = .string("delete")
        case .housekeeping, .unread: members["kind"] = .string("other")
        }
        return .object(members)
    }
}

extension Status.Wait {
    fileprivate var json: JSON {
        var members: [ExactText: JSON] = [
            "device_name": .string(self.deviceName),
            "changes": JSON(self.changeCount),
        ]
        switch self.reason {
        case .held(let until):
            members["reason"] = .string("held")
            members["until_ms"] = .int(until.millisecondsSince1970)
        case .missingChanges: members["reason"] = .string("missing")
        }
        return .object(members)
    }
}
