# Run in this folder: gnuplot speed_up.gnuplot
set encoding utf8
set grid lc rgb '#DDDDDD'
set key outside right top noenhanced
set bmargin 8
set label 1 'a cpu''s caption, commit 0123456789ab' at screen 0.02, 0.03 noenhanced tc rgb '#555555'
set title 'Speed-up over fixed-split:fa2'
set ylabel 'speed-up (times, log scale)'
set xlabel 'schedule (point: geometric mean over workloads; bar: least and most)'
set logscale y 2
set yrange [0.454545:2.2]
set xrange [-0.6:2.6]
set xtics ('fixed-split:fa2' 0, 'fa2' 1, 'lean' 2) rotate by -25 noenhanced
set terminal svg size 1000,600 font 'sans,12' background rgb 'white' noenhanced
set output 'speed_up.svg'
plot 1 with lines lc rgb '#888888' dt 2 notitle, 'speed_up.dat' index 0 using ($1+-0.150):2:3:4 with yerrorbars lc rgb '#0072B2' pt 7 ps 0.7 title 'predicted, h200', 'speed_up.dat' index 1 using ($1+0.000):2:3:4 with yerrorbars lc rgb '#D55E00' pt 5 ps 0.7 title 'predicted, a cpu', 'speed_up.dat' index 2 using ($1+0.150):2:3:4 with yerrorbars lc rgb '#009E73' pt 9 ps 0.7 title 'measured (cpu), a cpu'
set terminal pngcairo size 1000,600 font 'sans,10' background rgb 'white' noenhanced
set output 'speed_up.png'
plot 1 with lines lc rgb '#888888' dt 2 notitle, 'speed_up.dat' index 0 using ($1+-0.150):2:3:4 with yerrorbars lc rgb '#0072B2' pt 7 ps 0.7 title 'predicted, h200', 'speed_up.dat' index 1 using ($1+0.000):2:3:4 with yerrorbars lc rgb '#D55E00' pt 5 ps 0.7 title 'predicted, a cpu', 'speed_up.dat' index 2 using ($1+0.150):2:3:4 with yerrorbars lc rgb '#009E73' pt 9 ps 0.7 title 'measured (cpu), a cpu'
set output
