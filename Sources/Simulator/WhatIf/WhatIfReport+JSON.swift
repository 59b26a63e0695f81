internal import CRDTCore
internal import Engine

extension WhatIfReport {
    /// All of the answer for programs to read.
    var json: String {
        var members: [ExactText: JSON] = [
            "verdict": .string("\(self.verdict)"),
            "devices": .array(self.devices.indices.map { self.json(ofDevice: $0) }),
            "orders": self.ordersJSON,
            "link": .object([
                "name": .string(self.link.name),
                "bits_per_second": .int(Int64(clamping: self.link.bytesPerSecond * 8)),
                "latency_ms": .double(self.link.latency.seconds * 1_000),
            ]),
            "transfers": .array(self.transfers.map { self.json(of: $0) }),
        ]
        if let forecast = self.forecast {
            members["conflicts"] = .array(forecast.conflicts.map { self.json(of: $0) })
            members["older_conflicts"] = .int(Int64(forecast.olderConflictCount))
            members["moves_undone"] = .array(forecast.lostMoves.map { self.json(of: $0) })
            members["revived"] = .array(forecast.revivals.map { self.json(of: $0) })
            members["waiting"] = .array(
                forecast.held.map {
                    .object([
                        "device": .string($0.device),
                        "changes": .int(Int64($0.changeCount)),
                        "reason": .string($0.reason),
                    ])
                }
            )
            members["objects"] = .int(Int64(forecast.visibleObjectCount))
            members["blob_references"] = .int(Int64(forecast.blobReferenceCount))
        }
        return JSON.object(members).canonicalText
    }

    private func json(ofDevice number: Int) -> JSON {
        let device = self.devices[number]
        var members: [ExactText: JSON] = [
            "name": .string(device.name),
            "directory": .string(device.path),
            "device": .string(device.id.description),
            "objects": .int(Int64(device.objectCount)),
        ]
        if let forecast = self.forecast {
            let lack = forecast.lacks[number]
            var properties: [ExactText: JSON] = [:]
            for (name, count) in lack.operationsByProperty { properties[ExactText(name)] = .int(Int64(count)) }
            members["lacks_changes"] = .int(Int64(lack.changeCount))
            members["lacks_operations"] = .int(Int64(lack.operationCount))
            members["lacks_by_property"] = .object(properties)
            members["lacks_on_objects"] = .int(Int64(lack.operationsByObject.count))
            members["lacks_by_object"] = .array(
                forecast.largestLacks[number].map { entry in
                    .object(["object": entry.object.json, "operations": .int(Int64(entry.operationCount))])
                }
            )
            members["vanishing_objects"] = .int(Int64(forecast.vanishingCounts[number]))
        }
        return .object(members)
    }

    private var ordersJSON: JSON {
        .object([
            "count": .int(Int64(self.orders.orderCount)),
            "meetings": .int(Int64(self.orders.meetingCount)),
            "sampled": .bool(self.orders.seed != nil),
            "seed": self.orders.seed.map { .string(String($0)) } ?? .null,
            "all_end_the_same": .bool(self.orders.areAllEqual),
            "deviations": .array(
                self.orders.deviations.map { .object(["order": .string($0.order), "what": .string($0.what)]) }
            ),
            "notices": .array(self.orders.notices.map { "\($0)" }.sorted().map { .string($0) }),
        ])
    }

    private func json(of transfer: WhatIf.Transfer) -> JSON {
        let names = [transfer.pair.left, transfer.pair.right].map { self.devices[$0].name }
        let ending: String
        switch transfer.ending {
        case .equal: ending = "equal"
        case .strangers: ending = "strangers"
        case .stuck(let reason): ending = reason
        }
        return .object([
            "between": .array(names.map { .string($0) }),
            "bytes": .array(transfer.byteCounts.map { .int(Int64($0)) }),
            "milliseconds": .int(Int64(clamping: transfer.duration.milliseconds)),
            "ending": .string(ending),
        ])
    }

    private func json(of conflict: Forecast.Conflict) -> JSON {
        .object([
            "object": conflict.object.json,
            "property": .string(conflict.property),
            "winner": conflict.winner.json,
            "losers": .array(conflict.losers.map(\.json)),
        ])
    }

    private func json(of move: Forecast.LostMove) -> JSON {
        .object([
            "object": move.object.json,
            "reason": .string(move.reason.rawValue),
            "move": move.move.json,
            "winner": move.winner?.json ?? .null,
        ])
    }

    private func json(of revival: Forecast.Revival) -> JSON {
        .object([
            "object": revival.object.json,
            "deleted_on": .array(revival.deletedOn.map { .string($0) }),
            "deletion": revival.deletion?.json ?? .null,
            "edit": revival.edit?.json ?? .null,
        ])
    }
}
