internal import ArgumentParser
internal import Simulation

/// How a run is to be shown.
struct PictureOptions: ParsableArguments {
    @Flag(help: "Print what happened, one column a peer.")
    var timeline = false
    @Option(help: ArgumentHelp("Write a space-time diagram, a page for a browser.", valueName: "file"))
    var html: String?
    @Option(
        help: ArgumentHelp(
            "Write a log for ShiViz; its regular expression is \(ShiVizLog.expression)",
            valueName: "file"
        )
    )
    var shiviz: String?

    var areWanted: Bool { self.timeline || self.html != nil || self.shiviz != nil }

    func make(_ trace: Trace, title: String) throws {
        if self.timeline { print(ColumnTimeline.text(of: trace)) }
        if let path = self.html { try OutputFile.write(SpaceTimeDiagram.page(of: trace, title: title), to: path) }
        if let path = self.shiviz { try OutputFile.write(ShiVizLog.text(of: trace), to: path) }
    }
}
